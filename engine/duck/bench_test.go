package duck_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/engine/duck"
	"plumbline/engine/duck/ducktest"
	"plumbline/policy/prove"
)

const small = `SELECT grp, count(*) AS n, sum(id) AS s FROM ` + itemsTable + ` WHERE id < 2000 GROUP BY grp ORDER BY grp`

func BenchmarkWorker(b *testing.B) {
	cfg := config(b)
	p := open(b, cfg)
	ctx := context.Background()
	rows := func(b *testing.B, text string, lim duck.RunLimits) {
		for b.Loop() {
			res, err := p.Run(ctx, prove.ForTest(b, text), lim)
			require.NoError(b, err)
			res.Release()
		}
	}
	b.Run("ping", func(b *testing.B) {
		for b.Loop() {
			_, err := p.Check(ctx, nil)
			require.NoError(b, err)
		}
	})
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			_, err := p.Serialize(ctx, small)
			require.NoError(b, err)
		}
	})
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			got, err := p.Check(ctx, []string{small})
			require.NoError(b, err)
			require.True(b, got[0].OK)
		}
	})
	db := ducktest.Open(b, nil)
	db.Exec(b, `SET threads = 2`)
	db.Exec(b, `SET preserve_insertion_order = false`)
	bare := func(b *testing.B, text string) {
		for b.Loop() {
			rows, err := db.Query(text)
			require.NoError(b, err)
			for rows.Next() {
			}
			require.NoError(b, rows.Close())
		}
	}
	db.Exec(b, `CREATE VIEW "plumbline"."base"."items" AS SELECT id, grp, label FROM `+cfg.Relations[0].From)
	b.Run("bare-constant", func(b *testing.B) { bare(b, `SELECT 1`) })
	b.Run("bare-small", func(b *testing.B) { bare(b, small) })
	b.Run("run-constant", func(b *testing.B) { rows(b, `SELECT 1`, limits) })
	b.Run("run-small", func(b *testing.B) { rows(b, small, limits) })
	b.Run("run-csv", func(b *testing.B) { rows(b, `SELECT * FROM `+peopleTable, limits) })
	b.Run("run-cut-at-1000", func(b *testing.B) { rows(b, `SELECT * FROM `+itemsTable, limits) })
	b.Run("run-200k-rows", func(b *testing.B) {
		rows(b, `SELECT * FROM `+itemsTable, duck.RunLimits{Rows: items, Bytes: 64 << 20})
	})
}

func BenchmarkOpen(b *testing.B) {
	cfg := config(b)
	for b.Loop() {
		p, err := duck.Open(b.Context(), cfg)
		require.NoError(b, err)
		require.NoError(b, p.Close())
	}
}
