SELECT nope FROM orders
SELECT o.nope FROM orders o
SELECT orders.id FROM orders o
SELECT id FROM nope
SELECT x.* FROM orders
SELECT * EXCLUDE (nope) FROM orders
SELECT * REPLACE (1 AS nope) FROM orders
SELECT id FROM orders o JOIN customers c ON o.id = e.id JOIN products e ON true
SELECT id FROM orders, customers
SELECT n FROM (SELECT o.id + 1 AS n) s, orders o
SELECT o.status FROM (orders o JOIN customers c ON true) AS j
SELECT c.name FROM orders SEMI JOIN customers c ON orders.customer_id = c.id
SELECT k + 1 AS b, -id AS k FROM orders
SELECT id FROM orders WHERE nope = 1
SELECT id FROM orders GROUP BY nope
SELECT id FROM orders ORDER BY nope
SELECT id FROM orders ORDER BY 2
SELECT id FROM orders HAVING nope > 1
SELECT id FROM orders QUALIFY row_number() OVER (ORDER BY nope) = 1
SELECT sum(nope) FROM orders
SELECT id FROM orders UNION ALL SELECT nope FROM products
SELECT id, status FROM orders UNION ALL SELECT id FROM products
SELECT id AS x FROM orders UNION ALL SELECT id FROM products ORDER BY status
WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a
WITH t(a, b, c) AS (SELECT 1) SELECT b FROM t
WITH q AS (SELECT id FROM orders) SELECT status FROM q
SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM customers c WHERE c.nope = o.id)
SELECT x FROM (SELECT id FROM orders) s
SELECT t.x FROM (VALUES (1)) t(y)
SELECT a FROM orders AS o(a, b, c, d, e, f, g, h, i, j, k, l)
SELECT id FROM customers JOIN products USING (nope)
SELECT id FROM customers JOIN products USING (label)
SELECT main.orders.nope FROM orders
SELECT risk_score FROM customers
SELECT c.risk_score FROM customers c
SELECT list_transform([1], lambda x: y) FROM orders
SELECT x FROM orders WHERE list_filter([1], lambda x: x > 1) IS NULL
SELECT nosuchfunction(id) FROM orders
SELECT id FROM orders WHERE id = nope.id
SELECT * FROM products PIVOT (count(*) FOR nope IN ('a'))
