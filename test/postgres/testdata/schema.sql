CREATE TEMP TABLE v (id bigint, i integer, j integer, h smallint, b bigint, n numeric(18,2), m numeric(10,4), f double precision, s text, u text, d date, ts timestamp, tz timestamptz, ok boolean, js jsonb);
CREATE TEMP TABLE customers (id bigint, name text, country text, since date, referrer bigint);
CREATE TEMP TABLE orders (id bigint, customer_id bigint, status text, amount numeric(18,2), items integer, weight double precision, ordered_at timestamp, day date);
CREATE TEMP TABLE "LineItems" ("LineId" bigint, order_id bigint, "Sku" text, "UnitPrice" numeric(10,2), "Quantity" integer);
\copy v from 'DATA/v.csv' csv header
\copy customers from 'DATA/customers.csv' csv header
\copy orders from 'DATA/orders.csv' csv header
\copy "LineItems" from 'DATA/lines.csv' csv header
