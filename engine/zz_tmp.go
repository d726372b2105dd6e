package engine

import "context"

func (e *Engine) Changes(context.Context) (<-chan struct{}, error) { return nil, nil }
