-- integers
i / 2
i / j
-i / j
i % j
-i % 3
b / 1000
b % 1000
h / 2
h * 2
h + i
i + 1 WHERE i < 100
i - j
i * j WHERE i < 1000
i + b WHERE b < 100
b - 1
7 / 2
-7 / 2
7 % -2
-7 % 2
mod(i, j)
mod(b, 7)
div(i, j)
abs(i)
abs(b)
sign(i)
i / nullif(i, 0)
100 / i WHERE i <> 0
- i
+ i
- (i)
i & 6
i | 8
i # 5
power(i, 2) WHERE abs(i) < 1000
i ^ 2 WHERE abs(i) < 1000
gcd(i, j)
2147483647 + h::bigint
9223372036854775807 - 1
i::bigint * 2
i::smallint WHERE i < 1000
-2147483648
i = 7
i <> 7
i != 7
i between 0 and 10
i not between 0 and 10
i between symmetric 10 and 0
i in (7, 0, 3)
i not in (7, 0)
i in (7, null)
i = any (array[7, 0])
i <> all (array[7, 0])
i is distinct from j
i is not distinct from 7
greatest(i, j)
least(i, j, 0)
coalesce(i, -1)
nullif(i, 7)
i > n
i < f
i = '7'
-- errors of integers
i / 0
i % 0
100 / i
i + 1
2147483647 + 1
b * 10
h::smallint * h
-(b - 9223372036854775807 - 2)
i::smallint
(b * 1.0)::bigint
-- numeric
n + 1
n - m
n * m
n * 2
n * 1.5
n / 3
n / m
n / i WHERE i <> 0
1 / m
1.0 / 3
2 / 3.0
10.0 / 4
round(n)
round(n, 1)
round(m, 2)
round(m)
round(n / 3, 2)
round(n / m, 4) WHERE abs(n) < 1000
round(n / 7)
round(100.0 * i / j, 2) WHERE i < 1000
round(i / 3.0, 3)
round(2.5)
round(-2.5)
round(0.125, 2)
round(1.005, 2)
round(n, 5)
trunc(n)
ceil(n)
floor(n)
ceil(m)
floor(-m)
ceil(n / 3) WHERE abs(n) < 1000
floor(n / 3) WHERE abs(n) < 1000
abs(n)
sign(n)
-n
n::integer WHERE abs(n) < 1000
m::integer
2.5::integer
3.5::integer
-2.5::integer
n::numeric(10,1) WHERE abs(n) < 1000
m::numeric(6,2) WHERE m < 1000
n::double precision
n::text
m::text
(n * 2)::text
(n * m)::text
round(n, 1)::text
1.50
1.50::text
.5
5.
1e3
1.5e-2
12345678901234567890
n = 7.25
n > 1.5
n in (7.25, 0)
m < n
n / 3 > 1
n / 3 = 1
(n / 3)::numeric(20,4)
(n / 3)::integer WHERE abs(n) < 1000
(n / 3)::double precision
n / 3 + 1
n / 3 * 3
sqrt(m) WHERE m > 0
greatest(n, m)
coalesce(n, 0)
coalesce(n, i)
case when n > 1 then n else 0 end
n / 0
n / (n - n)
n::integer
n::numeric(5,2)
-- double precision
f / 2
f * 1.5
f + i
f - n
f / 3
round(f)
round(2.5::double precision)
round(3.5::double precision)
round(-0.5::double precision)
ceil(f)
floor(f)
trunc(f)
f::integer WHERE abs(f) < 100000
(2.5::double precision)::integer
(3.5::double precision)::integer
f::numeric
round(f::numeric, 2)
round(f::numeric, 1)
f::numeric(12,2) WHERE abs(f) < 100000
sqrt(abs(f))
exp(1.0::double precision)
ln(10.0::double precision)
log(100.0::double precision)
cbrt(f)
power(f, 2)
sin(f)
cos(f)
tan(f)
atan(f)
atan2(f, 1)
degrees(f)
radians(f)
pi()
abs(f)
sign(f)
sqrt(16)
f = 2.5
f > 2
f is null
f / 0
sqrt(f)
ln(f)
f::integer
-- text
upper(s)
upper('Straße')
upper('ẞ')
lower('ẞß')
lower(s)
length(s)
char_length(s)
octet_length(s)
reverse(s) WHERE id <> 12
s || '!'
'<' || s || '>'
s || i
i || s
s || null
s || n
s || d
s || ok::text
concat(s, '-', i, null, 'x')
concat_ws('/', s, null, i, 'z')
substring(s from 2 for 3)
substring(s from 2)
substring(s for 3)
substring(s from -1 for 4)
substring(s from 0 for 2)
substr(s, 3)
substring(s from 'l+o')
substring(s from '([a-z])[a-z]')
position('l' in s)
position('' in s)
strpos(s, 'o')
left(s, 3)
left(s, -2)
right(s, 3)
right(s, -2)
trim(s)
trim(both 'x' from s)
trim(leading ' ' from s)
trim(trailing from s)
ltrim(s)
rtrim(s)
ltrim(s, 'aH')
btrim(s, ' a')
replace(s, 'l', 'L')
translate(s, 'abc', 'xyz')
translate(s, 'abc', 'x')
split_part(s, ',', 1)
split_part(s, ',', 2)
split_part(s, ',', 9)
split_part(s, ' ', 2)
lpad(s, 5)
lpad(s, 8, '*')
rpad(s, 8, 'ab')
rpad(s, 2)
repeat(s, 2)
repeat(s, 0)
ascii(s)
chr(65)
md5(s)
starts_with(s, 'H')
overlay(s placing 'XX' from 2)
overlay(s placing 'XX' from 2 for 1)
s::varchar(3)
s = 'aaa'
s < 'b'
s > 'Z'
s between 'a' and 'c'
s in ('aaa', 'x')
s is distinct from null
greatest(s, 'b')
least(s, 'b', null)
coalesce(s, 'none')
s collate "C" < 'b'
E'a\tb\n'
E'\u00e9' || U&'\00e9'
$$it's$$ || $q$a$b$q$
'a''b'
U&'d\0061t\+000061'
-- LIKE and regular expressions
s like '%l%'
s not like 'H%'
s like '_ello%'
s like '%\_%'
s like '%\%'
s like '%!%' escape '!'
s like '%!_%' escape '!'
s like '%\\%'
s ilike 'hello%'
s not ilike '%UPPER%'
s ilike '%É'
s ~~ 'a%'
s !~~ 'a%'
s like u
s like '_x%'
s like '__x%'
s ~ 'l+'
s ~ '^H'
s ~ 'd$'
s ~ '^[a-z]+$'
s ~ '[[]|,'
s ~ 'a{2,3}'
s ~ '(lo|,b)'
s ~ '\.'
s ~ 'o.W'
s ~ '\d'
u ~ '^\d+$'
s ~* 'hello'
s ~* '^[a-c]'
s !~ 'l'
s !~* 'HELLO'
regexp_replace(s, 'l', 'L')
regexp_replace(s, 'l', 'L', 'g')
regexp_replace(s, '[aeiou]', '', 'gi')
regexp_like(s, 'hello', 'i')
-- casts of text
u::integer
u::bigint
u::numeric(10,2)
u::numeric
u::double precision
(u || '.5')::numeric
('2024-0' || j || '-15')::date WHERE j between 1 and 9
s::integer
s::date
(u || '.5')::integer
'yes'::boolean
'off'::boolean
'12'::integer
' 12 '::integer
'1.5'::numeric
'2024-02-29'::date
date '2024-02-29'
timestamp '2024-02-29 12:30'
timestamptz '2024-02-29 12:30:00+02'
i::text
b::text
ok::text
d::text
ts::text
ok::integer
i::boolean
cast(i as text)
s::text
-- booleans
ok and i > 0
ok or i > 0
not ok
ok is true
ok is not true
ok is false
ok is not false
ok is unknown
ok is not unknown
ok = true
ok < true
ok is null
i > 0 and n > 0
case when ok then 1 else 0 end
case i when 7 then 'seven' when 0 then 'zero' else 'other' end
case when i > 0 then 'pos' when i < 0 then 'neg' end
case when ok then i else n end
case when ok then f else i end
(i, j) = (7, 2)
(i, j) <> (7, 2)
(i, j) < (7, 3)
(i, j) >= (5, -2)
(i, j) in ((7, 2), (0, -3))
(i, s) not in ((7, 'x'), (3, 'it''s'))
null
null::integer + 1
coalesce(null, 'x')
nullif(s, 'x')
ok or (i > 0 or j > 0)
(ok and i > 0) and (j > 0 and (n > 0 and ok))
-- NULL on one side of a zero
n / 0 WHERE id = 4
0 / i WHERE id = 4
i / 0 WHERE id = 4
f / 0 WHERE id = 4
round(n / 0, 2) WHERE id = 4
-- dates and times
d + 1
d - 1
1 + d
d - date '2024-01-01'
d + i WHERE abs(i) < 1000
d + interval '1 month'
d - interval '1 day'
ts + interval '1 day 02:03:04'
ts - interval '1 year 2 mons'
ts + interval '36 hours'
ts + interval '-1 day'
ts + '1 hour'
ts - timestamp '2024-01-01 00:00:00'
ts - '2024-01-01'
ts - d
tz - timestamptz '2024-01-01 00:00:00+00'
interval '1 day' * 3
interval '1 month' + interval '2 days'
- interval '1 day'
interval '1 year 2 months 3 days 04:05:06.789'
interval '2 weeks'
interval '90 minutes'
age(ts, timestamp '2020-01-01')
age(timestamp '2024-03-31', timestamp '2024-02-29')
age(d, date '2000-02-29')
extract(year from d)
extract(month from ts)
extract(day from d)
extract(hour from ts)
extract(minute from ts)
extract(second from ts)
extract(dow from d)
extract(isodow from d)
extract(doy from d)
extract(week from d)
extract(isoyear from d)
extract(quarter from d)
extract(decade from d)
extract(century from d)
extract(millennium from d)
extract(epoch from ts)
extract(epoch from d)
extract(epoch from tz)
extract(milliseconds from ts)
extract(microseconds from ts)
extract(year from tz)
extract(day from ts - timestamp '2024-01-01')
extract(hour from interval '25 hours')
extract(month from interval '14 months')
date_part('year', d)
date_part('second', ts)
date_part('epoch', ts)
date_trunc('month', ts)
date_trunc('week', ts)
date_trunc('quarter', ts)
date_trunc('year', ts)
date_trunc('hour', ts)
date_trunc('day', tz)
date_trunc('month', d)
date_trunc('month', d)::date
date_trunc('decade', ts)
make_date(2024, j, 15) WHERE j > 0
make_date(2024, 13, 1)
ts::date
d::timestamp
ts::timestamptz
tz::timestamp
tz::date
d = '2024-02-29'
d > '2020-01-01'
ts >= '2024-01-01'
ts >= d
ts < '2024-02-29 23:59:59.5'
d between '2020-01-01' and '2024-01-31'
d in ('2024-02-29', '1970-01-01')
(ts, ts) = (ts, d)
d = date_trunc('month', d)
greatest(d, '2020-01-01')
to_char(ts, 'YYYY-MM-DD')
to_char(ts, 'YYYY-MM-DD HH24:MI:SS')
to_char(d, 'DD.MM.YYYY')
to_char(d, 'Mon YYYY')
to_char(d, 'FMMonth FMDD')
to_char(d, 'Month')
to_char(d, 'Day, DD')
to_char(d, 'MON dy')
to_char(ts, 'HH12:MI AM')
to_char(ts, 'yyyy"-Q"mm')
to_char(d, 'IYYY-IW')
to_char(d, 'DDD')
to_char(ts, 'SS.MS')
to_char(ts, 'SS.US')
to_char(tz, 'YYYY')
to_date('2024-03-05', 'YYYY-MM-DD')
to_date(to_char(d, 'DD/MM/YYYY'), 'DD/MM/YYYY')
to_date('20240305', 'YYYYMMDD')
to_date('2024-02-30', 'YYYY-MM-DD')
to_timestamp('2024-03-05 10:20:30', 'YYYY-MM-DD HH24:MI:SS')
to_timestamp(1700000000)
to_timestamp(0.5)
tz at time zone 'UTC'
tz at time zone 'Europe/Paris'
ts at time zone 'UTC'
current_date = now()::date
current_timestamp >= timestamptz '2024-01-01'
localtimestamp > timestamp '2024-01-01'
-- jsonb
js -> 'a'
js ->> 'a'
js ->> 'n'
js ->> 't'
js ->> 'z'
js -> 'z'
js -> 'o' -> 'k'
js -> 'o' ->> 'k'
js #>> '{o,k}'
js #> '{o}'
js -> 'l' -> 0
js -> 'l' ->> 1
js -> 'l' -> -1
js ? 'a'
js @> '{"a": "x"}'
js @> '{"t": true}'
(js ->> 'n')::integer WHERE id <> 8
js ->> 'a' = s
jsonb_array_length(js -> 'l')
jsonb_typeof(js -> 'n')
jsonb_typeof(js)
jsonb_extract_path_text(js, 'o', 'k')
js is null
-- arrays
array[i, j]
array['a', s]
(array[1, 2, 3])[2]
array_length(array[1, 2, 3], 1)
cardinality(array['a', 'b'])
array_position(array['a', 'b'], 'b')
array_to_string(array['a', 'b'], '-')
