package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Writes to the source at a steady rate and reads from the destination: the time from a record being handed to the producer
// to it being in a consumer's hands, through whatever mirrors the topic. Prints a line of JSON per rate, percentiles in milliseconds.
func probe(ctx context.Context, o options) error {
	writer, err := kgo.NewClient(kgo.SeedBrokers(o.source), kgo.DefaultProduceTopic(o.topic), kgo.ProducerLinger(0),
		// As Java producers do unless told otherwise; the default here would be snappy.
		kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return err
	}
	defer writer.Close()
	reader, err := kgo.NewClient(
		kgo.SeedBrokers(o.destination), kgo.ConsumeTopics(o.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.MetadataMinAge(200*time.Millisecond), kgo.MetadataMaxAge(time.Second))
	if err != nil {
		return err
	}
	defer reader.Close()
	arrived := make(chan time.Duration, 1<<20)
	go func() {
		for ctx.Err() == nil {
			fetches := reader.PollFetches(ctx)
			now := time.Now().UnixNano()
			fetches.EachRecord(func(r *kgo.Record) {
				if len(r.Value) >= 8 {
					arrived <- time.Duration(now - int64(binary.BigEndian.Uint64(r.Value)))
				}
			})
		}
	}()
	if err := warmUp(ctx, writer, arrived); err != nil {
		return err
	}
	for _, text := range strings.Split(o.rates, ",") {
		rate, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		if err := report(rate, measure(ctx, rate, o.seconds, writer, arrived)); err != nil {
			return err
		}
	}
	return nil
}

func send(ctx context.Context, writer *kgo.Client) {
	value := make([]byte, 100)
	binary.BigEndian.PutUint64(value, uint64(time.Now().UnixNano()))
	writer.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
		if ctx.Err() == nil {
			fail(err)
		}
	})
}

// Records through the whole path, so that nobody is measured while the brokers' code is still being compiled: the peer that
// comes first would pay for all. The first record may take as long as the mirror takes to start.
func warmUp(ctx context.Context, writer *kgo.Client, arrived <-chan time.Duration) error {
	send(ctx, writer)
	select {
	case <-arrived:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(90 * time.Second):
		return fmt.Errorf("nothing arrived within 90 s")
	}
	measure(ctx, 1000, 8, writer, arrived)
	return nil
}

func measure(ctx context.Context, rate, seconds int, writer *kgo.Client, arrived <-chan time.Duration) []float64 {
	wanted := rate * seconds
	go func() {
		start := time.Now()
		for i := 0; i < wanted && ctx.Err() == nil; i++ {
			time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / time.Duration(rate))))
			send(ctx, writer)
		}
	}()
	milliseconds := make([]float64, 0, wanted)
	for len(milliseconds) < wanted && ctx.Err() == nil {
		select {
		case latency := <-arrived:
			milliseconds = append(milliseconds, float64(latency.Microseconds())/1000)
		case <-time.After(time.Duration(seconds+30) * time.Second):
			return milliseconds
		}
	}
	return milliseconds
}

func report(rate int, milliseconds []float64) error {
	if len(milliseconds) == 0 {
		return fmt.Errorf("no record arrived")
	}
	slices.Sort(milliseconds)
	at := func(q float64) float64 { return milliseconds[int(q*float64(len(milliseconds)-1))] }
	return json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"rate": float64(rate), "records": float64(len(milliseconds)), "p50": at(0.5), "p99": at(0.99), "max": at(1),
	})
}
