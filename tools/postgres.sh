#!/usr/bin/env bash
# Runs a command beside a PostgreSQL 15 server of its own: a fresh cluster in a
# temporary folder, reached by a unix socket alone, gone when the command ends.
#
#   tools/postgres.sh COMMAND [ARGUMENT...]
#
# The command finds the server through PGHOST, PGUSER and PGDATABASE, and psql on
# its PATH. On Debian the server is installed where it is missing.
set -euo pipefail

find_bin() {
	for dir in /usr/lib/postgresql/15/bin /opt/homebrew/opt/postgresql@15/bin /usr/local/opt/postgresql@15/bin; do
		if [ -x "$dir/initdb" ]; then
			echo "$dir"
			return
		fi
	done
	if command -v initdb >/dev/null && initdb --version | grep -q ' 15\.'; then
		dirname "$(command -v initdb)"
	fi
}

bin=$(find_bin)
if [ -z "$bin" ] && command -v apt-get >/dev/null; then
	as_root=$([ "$(id -u)" = 0 ] || echo sudo)
	# The package would start a cluster for the whole machine, which nobody asked for.
	$as_root mkdir -p /etc/postgresql-common
	[ -e /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' | $as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
	$as_root apt-get update -qq
	DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends postgresql-15 >/dev/null
	bin=$(find_bin)
fi
if [ -z "$bin" ]; then
	echo "PostgreSQL 15 is needed: apt-get install postgresql-15, or brew install postgresql@15" >&2
	exit 1
fi

home=$(mktemp -d /tmp/plumbline-pg-XXXXXX)
# The server refuses to run as root.
server=$(id -un)
[ "$(id -u)" != 0 ] || server=postgres
as_server() { if [ "$(id -u)" = 0 ]; then runuser -u "$server" -- "$@"; else "$@"; fi; }
[ "$(id -u)" != 0 ] || chown "$server" "$home"
stop() {
	as_server "$bin/pg_ctl" -D "$home/data" -m immediate -w stop >/dev/null 2>&1 || true
	rm -rf "$home"
}
trap stop EXIT

# Text in the order of its code points, as everywhere in plumbline.
locale=C.UTF-8
locale -a 2>/dev/null | grep -qiE '^C\.utf-?8$' || locale=C
as_server "$bin/initdb" -D "$home/data" -U plumbline -A trust -E UTF8 --locale="$locale" --no-sync >/dev/null
as_server "$bin/pg_ctl" -D "$home/data" -l "$home/log" -w -o "-k $home -c listen_addresses= -c fsync=off -c timezone=UTC -c intervalstyle=postgres -c extra_float_digits=1" start >/dev/null

PATH="$bin:$PATH" PGHOST="$home" PGUSER=plumbline PGDATABASE=postgres "$@"
