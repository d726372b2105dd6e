# plain selections and names
SELECT id, STATUS, Total_Cents FROM orders
SELECT o.id, o."größe", o."order" FROM orders o
SELECT id + 1, -total_cents, total_cents * 2 - 1, id || 'x', total_cents // 2, total_cents % 3, abs(id), @id FROM orders
SELECT count(*), count(DISTINCT status), sum(o.total_cents), avg(discount), min(order_date), max(created_at) FROM orders o
SELECT 1, 'it''s', 1.5, 1.50, 1e3, 1e100, 1e-5, NULL, true, -1, DATE '2020-01-01', INTERVAL 1 DAY, INTERVAL '3 months', 123456789012345678901234567890, -0.5
SELECT CASE WHEN id > 1 THEN 'a' ELSE 'b' END, CASE status WHEN 'paid' THEN 1 END, coalesce(status, 'x'), nullif(id, 1), ifnull(id, 2) FROM orders
names: SELECT CAST(id AS VARCHAR), id::DECIMAL(10,2), TRY_CAST(status AS INTEGER), id::DOUBLE, order_date::TIMESTAMP, id::int[], order_date::timestamptz, id::hugeint FROM orders WHERE false
SELECT id = 1, id <> 1, id IS NULL, id IS NOT NULL, id IN (1, 2), id NOT IN (1), id BETWEEN 1 AND 2, NOT (id = 1), status LIKE 'a%', status NOT LIKE 'b', status ILIKE 'c', id IS DISTINCT FROM 2, (id = 1) IS TRUE FROM orders
SELECT id = 1 AND total_cents > 2 OR status = 'x' FROM orders
SELECT extract(year FROM order_date), date_trunc('month', order_date), order_date + INTERVAL 1 DAY, year(order_date), substring(status FROM 1 FOR 2), trim(status), left(status, 1), position('a' IN status), created_at AT TIME ZONE 'UTC' FROM orders
names: SELECT list_value(1, 2), [1, 2][1], {'a': 1}, struct_pack(x := id), row(1, 2), [1, 2][1:2] FROM orders
SELECT list_transform([1, 2], lambda x: x + 1), list_filter([1], lambda id: id > 0), list_transform([1], lambda x, i: x + i + id) FROM orders
SELECT string_agg(status, ',' ORDER BY id DESC, status NULLS FIRST), list(id ORDER BY id), count(*) FILTER (WHERE id > 1), string_agg(DISTINCT status, ',' ORDER BY status) FROM orders
names: SELECT current_date, now(), count(*) FROM orders
SELECT status COLLATE NOCASE FROM orders
# windows
SELECT row_number() OVER (), sum(total_cents) OVER (PARTITION BY status ORDER BY order_date DESC NULLS LAST ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM orders
SELECT lag(id, 1, 0) OVER (ORDER BY id), lead(id) OVER w, rank() OVER w, dense_rank() OVER w, ntile(4) OVER w FROM orders WINDOW w AS (PARTITION BY status ORDER BY id)
SELECT first_value(id IGNORE NULLS) OVER (ORDER BY id RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING), sum(id) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING), sum(id) OVER (ORDER BY id GROUPS 2 PRECEDING), sum(id) FILTER (WHERE id > 1) OVER (ORDER BY id), sum(DISTINCT id) OVER (ORDER BY id), sum(id) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING EXCLUDE TIES) FROM orders
SELECT id, row_number() OVER (ORDER BY id) AS rn FROM orders QUALIFY rn = 1
SELECT status, sum(sum(total_cents)) OVER (ORDER BY status) FROM orders GROUP BY status
SELECT status, rank() OVER (ORDER BY sum(total_cents) DESC) r FROM orders GROUP BY status QUALIFY r < 3 ORDER BY ALL
# stars
SELECT * FROM orders
SELECT * FROM customers
SELECT *, id FROM products
SELECT o.*, c.name FROM orders o JOIN customers c ON o.customer_id = c.id
SELECT * EXCLUDE (order_date, "order") FROM orders
SELECT * EXCLUDE id FROM products
SELECT * EXCLUDE (p.id) FROM products p, (SELECT 1 AS id) x
SELECT * REPLACE (total_cents / 100 AS total_cents) FROM orders
SELECT * REPLACE (upper(label) AS label, id + 1 AS id) FROM products
SELECT * REPLACE (1 AS id, 't' AS tenant) FROM customers c JOIN orders o ON o.customer_id = c.id
SELECT * REPLACE (1 AS id) FROM products JOIN orders USING (id) JOIN customers c ON true
SELECT c.* REPLACE (1 AS id), o.* REPLACE (2 AS id), * RENAME (id AS i) FROM customers c JOIN orders o ON o.customer_id = c.id
SELECT * RENAME (id AS product) FROM products
SELECT p.* EXCLUDE (category) RENAME (label AS l) FROM products p
SELECT COLUMNS(*) FROM products
FROM products
FROM products WHERE id = 1 LIMIT 3
FROM products SELECT label, id
FROM (FROM products) p
SELECT * FROM products, products AS p2
SELECT * FROM (SELECT * FROM products, products AS p2) q
SELECT * FROM (SELECT 1 AS id, 2 AS id, 3 AS id_1, 4 AS id_1, 5 AS ID)
SELECT * FROM (SELECT id, count(*) FROM orders GROUP BY 1)
SELECT * FROM (SELECT count(*), sum(id + 1), max(o.total_cents) FROM orders o) s
SELECT "count_star()" FROM (SELECT count(*) FROM orders)
# joins
SELECT * FROM orders o JOIN customers c ON o.customer_id = c.id
SELECT * FROM orders JOIN order_items ON orders.id = order_items.order_id LEFT JOIN products ON product_id = products.id
SELECT * FROM customers JOIN products USING (id)
SELECT * FROM customers LEFT JOIN products USING (id)
SELECT * FROM customers RIGHT JOIN products USING (id)
SELECT * FROM customers FULL JOIN products USING (id)
SELECT id FROM customers FULL JOIN products USING (id)
SELECT * FROM customers JOIN products USING (id) JOIN orders USING (id)
SELECT id, customers.id, p.id FROM customers FULL JOIN products p USING (id) LEFT JOIN orders USING (id)
SELECT * FROM customers c FULL JOIN products p USING (id) JOIN orders o ON true
SELECT customers.*, products.* FROM customers JOIN products USING (id)
SELECT * FROM orders NATURAL JOIN support_tickets
SELECT * FROM products p NATURAL LEFT JOIN (SELECT id, 'x' AS extra FROM orders) e
SELECT * FROM orders SEMI JOIN customers ON orders.customer_id = customers.id
SELECT * FROM orders ANTI JOIN customers c ON customer_id = c.id
SELECT * FROM orders o ASOF JOIN support_tickets t ON o.customer_id = t.customer_id AND o.created_at >= t.created_at
SELECT o.id FROM orders o, customers c WHERE o.customer_id = c.id AND c.plan = 'pro'
SELECT o.id FROM orders o CROSS JOIN products p
SELECT n FROM orders o, (SELECT o.id + 1 AS n) s
SELECT n FROM orders o, LATERAL (SELECT total_cents + 1 AS n) s
SELECT n FROM customers c, (orders o JOIN (SELECT o.total_cents AS n) s ON true)
SELECT j.status, j.id_1 FROM (orders o JOIN products p ON true) AS j
SELECT x, p.label FROM (orders JOIN products p ON orders.id = p.id) JOIN (SELECT 1 AS x) ON true
# subqueries
SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM customers c WHERE c.id = o.customer_id AND plan = 'x')
SELECT id FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE region = 'eu')
SELECT (SELECT count(*) FROM orders), (SELECT max(total_cents) FROM orders o WHERE o.customer_id = c.id) FROM customers c
SELECT EXISTS (SELECT 1 FROM orders), NOT EXISTS (FROM orders), id IN (SELECT customer_id FROM orders), id NOT IN (SELECT id FROM products), id = ANY (SELECT 1) FROM customers
SELECT 1 + (SELECT max(id) FROM orders), coalesce((SELECT min(id) FROM products WHERE label = 'x'), 0) FROM customers
SELECT id AS z, (SELECT z) FROM orders
SELECT (SELECT (SELECT max(id) FROM orders) + 1 FROM products LIMIT 1)
SELECT * FROM (SELECT (SELECT count(*) FROM orders) FROM customers) t
SELECT (SELECT a FROM (SELECT id AS a, label FROM products) AS s WHERE s.label = 'x' ORDER BY a DESC LIMIT 1) FROM orders
SELECT (SELECT count(*) FROM orders o JOIN customers c ON o.customer_id = c.id LEFT JOIN products p ON p.id = o.id), (SELECT 1 FROM orders, products p, customers c LIMIT 1)
SELECT (SELECT sum(id) FROM orders GROUP BY GROUPING SETS ((status), ()) ORDER BY 1 LIMIT 1), (SELECT DISTINCT 1 FROM orders), (SELECT max(id) FROM orders HAVING count(*) > 1)
SELECT (WITH q AS (SELECT id AS x FROM orders) SELECT max(x) FROM q), (SELECT id FROM orders UNION ALL SELECT id FROM products LIMIT 1)
SELECT ( SELECT max(id) FROM orders ) , label FROM products
SELECT label, 1+(SELECT max(id) FROM orders WHERE status IS DISTINCT FROM 'x') FROM products
# common table expressions
WITH q AS (SELECT customer_id, sum(total_cents) s FROM orders GROUP BY 1) SELECT c.name, q.s FROM q JOIN customers c ON c.id = q.customer_id ORDER BY q.s DESC LIMIT 20
WITH orders AS (SELECT count(*) AS n FROM orders) SELECT * FROM orders
WITH a AS (SELECT id FROM orders), orders AS (SELECT 1 AS one) SELECT * FROM a, orders
WITH customers AS (SELECT 'ok' AS email) SELECT email FROM customers
WITH t(a, b) AS (SELECT id, label, category FROM products) SELECT * FROM t
WITH t(a) AS (SELECT 1, 2 AS a) SELECT * FROM t
WITH a AS (SELECT 1 AS x), b AS (WITH a AS (SELECT 2 AS x) SELECT * FROM a), c AS (SELECT * FROM a) SELECT b.x, c.x FROM b, c
WITH RECURSIVE r AS (SELECT id, total_cents FROM orders WHERE id = 1 UNION ALL SELECT o.id, o.total_cents FROM orders o JOIN r ON o.id = r.id + 1 WHERE o.id < 20) SELECT * FROM r
WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n + 1 FROM r WHERE n < 5) SELECT n, count(*) FROM r GROUP BY n
WITH RECURSIVE orders AS (SELECT id FROM orders UNION ALL SELECT id + 1 FROM orders WHERE id < 3) SELECT * FROM orders
WITH q AS MATERIALIZED (SELECT * FROM products) SELECT q.label, p.label FROM q, q p
# set operations
SELECT id FROM orders UNION ALL SELECT id FROM products
SELECT id AS a, status FROM orders UNION SELECT id, label FROM products ORDER BY a, 2 LIMIT 3
SELECT id, status FROM orders UNION ALL BY NAME SELECT id, label FROM products
SELECT id FROM orders EXCEPT SELECT id FROM products INTERSECT SELECT id FROM customers
(SELECT id FROM orders ORDER BY id LIMIT 2) UNION ALL (SELECT id FROM products LIMIT 1)
SELECT * FROM products UNION ALL SELECT * FROM products
SELECT count(*) FROM orders UNION ALL SELECT count(*) FROM products
SELECT id AS x FROM orders UNION ALL SELECT id AS y FROM products ORDER BY y
# grouping, ordering, aliases
SELECT status, sum(total_cents) FROM orders GROUP BY status ORDER BY 2 DESC
SELECT status s, count(*) n FROM orders GROUP BY s HAVING n > 1 ORDER BY n DESC, s
SELECT date_trunc('month', order_date) AS order_date, count(*) FROM orders GROUP BY 1 ORDER BY 1
SELECT id * 2 AS d, d + 1 AS e FROM orders WHERE d > 3 ORDER BY e
SELECT sum(total_cents) AS orders FROM orders ORDER BY orders
SELECT sum(total_cents) AS orders FROM orders HAVING orders > 5
SELECT status, count(*) FROM orders GROUP BY ALL ORDER BY ALL
SELECT status, region, grouping(status, region), count(*) FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY ROLLUP(status, region)
SELECT status, count(*) FROM orders GROUP BY GROUPING SETS ((status), ())
SELECT DISTINCT status FROM orders ORDER BY status
SELECT DISTINCT ON (customer_id) customer_id, id FROM orders ORDER BY customer_id, order_date DESC
SELECT id FROM orders ORDER BY total_cents DESC NULLS LAST, -id LIMIT 10 OFFSET 5
SELECT id AS total_cents FROM orders WHERE alias.total_cents > 1
SELECT o.id FROM orders AS o(id, cust) WHERE cust = 1
SELECT a, b FROM products AS p(a, b)
# values and functions that make rows
VALUES (1, 'a'), (2, 'b')
SELECT * FROM (VALUES (1, 'a')) v(x, y)
SELECT * FROM (VALUES (1, 'a')) v JOIN products p ON p.id = v.col0
SELECT * FROM range(10)
SELECT i, t.i FROM range(1, 10, 2) t(i)
SELECT * FROM generate_series(1, 10)
SELECT * FROM generate_series(DATE '2020-01-01', DATE '2020-12-31', INTERVAL 1 DAY) d(day)
SELECT u.x, id FROM orders, unnest([id, total_cents]) u(x)
SELECT unnest([1, 2]) AS u, id FROM products
# pivots
PIVOT orders ON status IN ('open', 'paid') USING sum(total_cents) GROUP BY customer_id
PIVOT orders ON status IN ('open', 'paid') USING sum(total_cents) AS s, count(*) GROUP BY customer_id
PIVOT products ON category IN ('a' AS cat_a, 'b') USING count(*)
SELECT * FROM products PIVOT (count(*) FOR category IN ('a', 'b') GROUP BY label) p
SELECT p.a_n, label FROM products PIVOT (count(*) AS n FOR category IN ('a') GROUP BY label) p
UNPIVOT (SELECT id, label, category FROM products) ON label, category INTO NAME k VALUE v
SELECT * FROM products UNPIVOT (v FOR k IN (label, category)) u
# derived columns
SELECT s.a, s.b FROM (SELECT {'a': 1, 'b': id} AS s FROM orders)
SELECT t.s.a FROM (SELECT {'a': id} AS s FROM orders) t
SELECT x.id FROM (SELECT o.id FROM orders o) AS x WHERE x.id > 1
SELECT big_region, count(*) FROM customers GROUP BY big_region
# conditions that may stand inside a fence, and those that may not
SELECT id FROM orders WHERE status = 'paid' AND total_cents >= 100 AND tenant IN ('acme', 'globex') AND order_date BETWEEN DATE '2026-01-01' AND DATE '2026-01-31'
SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.customer_id = c.id AND c.region = 'eu' AND o.status = 'paid' WHERE o.tenant = 'acme'
SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.customer_id = c.id WHERE c.plan = 'pro' OR c.plan IS NULL
SELECT o.id, c.name FROM orders o RIGHT JOIN customers c ON o.customer_id = c.id AND o.status = 'paid' AND c.region = 'eu'
SELECT o.id, c.name FROM orders o FULL JOIN customers c ON o.customer_id = c.id AND o.status = 'paid' WHERE c.plan = 'pro'
SELECT o.id, t.id FROM orders o ASOF JOIN support_tickets t ON o.customer_id = t.customer_id AND o.created_at >= t.created_at WHERE t.priority = 'low'
SELECT o.id, t.id FROM orders o ASOF LEFT JOIN support_tickets t ON o.customer_id = t.customer_id AND o.created_at >= t.created_at AND t.priority = 'low'
SELECT o.id FROM orders o ANTI JOIN customers c ON o.customer_id = c.id AND c.plan = 'pro' WHERE o.status = 'paid'
SELECT o.id FROM orders o SEMI JOIN customers c ON o.customer_id = c.id AND c.plan = 'pro'
SELECT o.id, p.label FROM (orders o JOIN order_items i ON o.id = i.order_id AND i.qty = 2) LEFT JOIN products p ON p.id = i.product_id AND p.category = 'a' WHERE o.tenant = 'acme'
SELECT id FROM customers FULL JOIN products USING (id) WHERE id = 1
SELECT id FROM customers LEFT JOIN products USING (id) WHERE id = 1
SELECT count(*) FROM customers RIGHT JOIN products USING (id) WHERE id > 1
SELECT c.id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND o.status = 'paid')
SELECT c.id, (SELECT count(*) FROM orders o WHERE o.customer_id = c.id AND o.status = 'paid' AND c.plan = 'pro') AS n FROM customers c WHERE c.plan = 'pro'
SELECT count(*), count(DISTINCT o.id) FROM orders o, customers c WHERE 'paid' = o.status AND c.plan <> 'free'
SELECT status, count(*) FROM orders WHERE NOT (status = 'paid') GROUP BY ALL
SELECT id, sum(total_cents) OVER (ORDER BY id) FROM orders WHERE status = 'paid' QUALIFY row_number() OVER (ORDER BY id) = 1
SELECT * FROM (SELECT id, status FROM orders ORDER BY id LIMIT 2) WHERE status = 'paid'
WITH q AS (SELECT * FROM orders WHERE tenant = 'acme') SELECT a.id, b.id FROM q a LEFT JOIN q b ON a.id = b.customer_id AND b.status = 'open'
# columns that count without being named
SELECT count(*) FROM orders NATURAL JOIN support_tickets
SELECT a.id FROM customers a NATURAL LEFT JOIN products
SELECT count(*) FROM (FROM orders) o NATURAL JOIN (FROM customers) c
SELECT b FROM customers AS c(a, b)
SELECT DISTINCT ON (status) status, total_cents FROM orders ORDER BY status, total_cents DESC
PIVOT orders ON status IN ('open', 'paid') USING sum(total_cents)
SELECT count(*) FROM (SELECT id, status FROM orders UNION BY NAME SELECT id, label, category FROM products)
SELECT o.status AS id, id AS status FROM orders o WHERE status = 'paid' ORDER BY id
SELECT count(*) AS status FROM orders GROUP BY status HAVING status > 'a'
SELECT total_cents AS id, sum(id) OVER (ORDER BY id) AS s FROM orders QUALIFY s > 1
SELECT (SELECT count(*) FROM products WHERE id = o.id), (SELECT status) FROM orders o
SELECT c.name, (SELECT string_agg(label, ',' ORDER BY label) FROM products p, orders o WHERE o.customer_id = c.id AND p.id = o.id AND plan = 'pro') AS s FROM customers c
