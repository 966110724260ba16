package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// What a good Go engineer would write in an afternoon: consume committed records, produce them to the same partition. It keeps no
// offsets, and runs until told to stop.
func mirror(ctx context.Context, o options) error {
	source, err := kgo.NewClient(
		kgo.SeedBrokers(o.source),
		kgo.ConsumeTopics(o.topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxBytes(16<<20),
	)
	if err != nil {
		return err
	}
	defer source.Close()
	destination, err := kgo.NewClient(
		kgo.SeedBrokers(o.destination),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(codec(o.compression)),
		kgo.ProducerBatchMaxBytes(1_000_000),
		kgo.MaxBufferedRecords(200_000),
		kgo.ProducerLinger(time.Duration(o.linger)*time.Millisecond),
	)
	if err != nil {
		return err
	}
	defer destination.Close()
	for ctx.Err() == nil {
		fetches := source.PollFetches(ctx)
		fetches.EachRecord(func(r *kgo.Record) {
			copied := &kgo.Record{Topic: r.Topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: r.Headers, Timestamp: r.Timestamp}
			destination.Produce(ctx, copied, func(_ *kgo.Record, err error) {
				if ctx.Err() == nil {
					fail(err)
				}
			})
		})
	}
	return nil
}
