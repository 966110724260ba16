// The benchmark's Go half, on the fastest Kafka client there is: a consume-then-produce mirror to compare with, the producer
// of the workloads, and the probe that measures latency through any mirror.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
)

type options struct {
	source, destination, topic string
	partitions, records, size  int
	kind, compression          string
	transaction                int
	rates                      string
	seconds                    int
	linger                     int
}

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("usage: %s mirror|produce|probe --flags", os.Args[0]))
	}
	var o options
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	flags.StringVar(&o.source, "source", "", "host:port")
	flags.StringVar(&o.destination, "destination", "", "host:port")
	flags.StringVar(&o.topic, "topic", "", "")
	flags.IntVar(&o.partitions, "partitions", 1, "")
	flags.IntVar(&o.records, "records", 0, "")
	flags.IntVar(&o.size, "size", 1000, "bytes of a value")
	flags.StringVar(&o.kind, "kind", "batches", "batches, single (one record per batch) or transactions")
	flags.StringVar(&o.compression, "compression", "none", "none or lz4 (values are JSON then)")
	flags.IntVar(&o.transaction, "transaction", 100, "records of a transaction")
	flags.StringVar(&o.rates, "rates", "100", "records a second, one after the other: 100,1000")
	flags.IntVar(&o.seconds, "seconds", 10, "")
	flags.IntVar(&o.linger, "linger", 10, "milliseconds")
	fail(flags.Parse(os.Args[2:]))
	ctx := untilStdinCloses()
	switch os.Args[1] {
	case "mirror":
		fail(mirror(ctx, o))
	case "produce":
		fail(produce(ctx, o))
	case "probe":
		fail(probe(ctx, o))
	default:
		fail(fmt.Errorf("unknown mode %q", os.Args[1]))
	}
}

// A child that outlives the benchmark would go on loading the machine.
func untilStdinCloses() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx
}

func codec(name string) kgo.CompressionCodec {
	if name == "lz4" {
		return kgo.Lz4Compression()
	}
	return kgo.NoCompression()
}

func fail(err error) {
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
