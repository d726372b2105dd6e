package duck

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A frame is two lengths (4 bytes each, big endian), a JSON header, a payload.
// Texts and results travel in the payload: JSON would replace bytes that are
// not UTF-8, so that the text that runs would not be the text that was proved.
const (
	maxHeader  = 8 << 20
	frameLimit = 1 << 30
)

var errFrame = errors.New("malformed frame")

func writeFrame(w io.Writer, header any, payload []byte) error {
	head, err := json.Marshal(header)
	if err != nil {
		return err
	}
	if len(head) > maxHeader || len(payload) > frameLimit {
		return fmt.Errorf("%w: %d and %d bytes", errFrame, len(head), len(payload))
	}
	buf := make([]byte, 0, 8+len(head))
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(head)))
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(payload)))
	if _, err := w.Write(append(buf, head...)); err != nil {
		return err
	}
	if len(payload) == 0 {
		return nil
	}
	_, err = w.Write(payload)
	return err
}

// readFrame reads one frame whose payload is at most limit() bytes, asked when
// the frame begins. Nothing is allocated before the lengths are checked. io.EOF means that the other side
// closed between two frames.
func readFrame(r io.Reader, header any, limit func() int64) ([]byte, error) {
	var lens [8]byte
	if _, err := io.ReadFull(r, lens[:]); err != nil {
		return nil, err
	}
	head, size := binary.BigEndian.Uint32(lens[:4]), int64(binary.BigEndian.Uint32(lens[4:]))
	if head > maxHeader || size > min(limit(), frameLimit) {
		return nil, fmt.Errorf("%w: %d and %d bytes", errFrame, head, size)
	}
	buf := make([]byte, int64(head)+size)
	if _, err := io.ReadFull(r, buf); err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	if err := json.Unmarshal(buf[:head], header); err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	return buf[head:], nil
}

// joinTexts puts texts one after the other; splitTexts takes them apart again.
func joinTexts(texts []string) (payload []byte, lens []int) {
	for _, t := range texts {
		payload = append(payload, t...)
		lens = append(lens, len(t))
	}
	return payload, lens
}

func splitTexts(payload []byte, lens []int) ([][]byte, error) {
	out := make([][]byte, len(lens))
	for i, n := range lens {
		if n < 0 || n > len(payload) {
			return nil, errFrame
		}
		out[i], payload = payload[:n:n], payload[n:]
	}
	if len(payload) != 0 {
		return nil, errFrame
	}
	return out, nil
}
