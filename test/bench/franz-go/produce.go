package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Writes a workload to the source: the same data for every peer, written once.
func produce(ctx context.Context, o options) error {
	switch o.kind {
	case "single":
		return produceSingle(ctx, o)
	case "transactions":
		return produceTransactions(ctx, o)
	}
	client, err := producer(o)
	if err != nil {
		return err
	}
	defer client.Close()
	values := newValues(o, 1)
	for i := 0; i < o.records; i++ {
		client.Produce(ctx, values.record(i), func(_ *kgo.Record, err error) { fail(err) })
	}
	return client.Flush(ctx)
}

func producer(o options, more ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(o.source),
		kgo.DefaultProduceTopic(o.topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(codec(o.compression)),
		kgo.ProducerBatchMaxBytes(128 << 10),
		kgo.ProducerLinger(20 * time.Millisecond),
		kgo.MaxBufferedRecords(100_000),
	}, more...)...)
}

// Transactions of a fixed size by four producers at once, all committed.
func produceTransactions(ctx context.Context, o options) error {
	const producers = 4
	var group sync.WaitGroup
	errs := make(chan error, producers)
	for p := 0; p < producers; p++ {
		group.Add(1)
		go func(p int) {
			defer group.Done()
			errs <- transactionsOf(ctx, o, p, o.records/producers)
		}(p)
	}
	group.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func transactionsOf(ctx context.Context, o options, id, records int) error {
	client, err := producer(o, kgo.TransactionalID(fmt.Sprintf("bench-%s-%d", o.topic, id)), kgo.ProducerLinger(0))
	if err != nil {
		return err
	}
	defer client.Close()
	values := newValues(o, int64(id))
	for done := 0; done < records; done += o.transaction {
		if err := client.BeginTransaction(); err != nil {
			return err
		}
		for i := done; i < min(done+o.transaction, records); i++ {
			client.Produce(ctx, values.record(i), func(_ *kgo.Record, err error) { fail(err) })
		}
		if err := client.Flush(ctx); err != nil {
			return err
		}
		if err := client.EndTransaction(ctx, kgo.TryCommit); err != nil {
			return err
		}
	}
	return nil
}

// One record per batch. Clients merge neighbours, so the batches are made by hand; a partition takes one a request.
func produceSingle(ctx context.Context, o options) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(o.source))
	if err != nil {
		return err
	}
	defer client.Close()
	values := newValues(o, 1)
	work := make(chan *kgo.Record, 256)
	var group sync.WaitGroup
	for w := 0; w < 64; w++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for record := range work {
				fail(sendSingle(ctx, client, o.topic, record))
			}
		}()
	}
	for i := 0; i < o.records; i++ {
		work <- values.record(i)
	}
	close(work)
	group.Wait()
	return nil
}

func sendSingle(ctx context.Context, client *kgo.Client, topic string, record *kgo.Record) error {
	partition := kmsg.NewProduceRequestTopicPartition()
	partition.Partition = record.Partition
	partition.Records = singleBatch(record.Value)
	requestTopic := kmsg.NewProduceRequestTopic()
	requestTopic.Topic = topic
	requestTopic.Partitions = append(requestTopic.Partitions, partition)
	request := kmsg.NewPtrProduceRequest()
	request.Acks = 1
	request.TimeoutMillis = 30_000
	request.Topics = append(request.Topics, requestTopic)
	response, err := request.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(response.Topics[0].Partitions[0].ErrorCode)
}

func singleBatch(value []byte) []byte {
	record := kmsg.Record{Value: value}
	record.Length = int32(len(record.AppendTo(nil)) - 1)
	now := time.Now().UnixMilli()
	batch := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, FirstTimestamp: now, MaxTimestamp: now,
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: 1, Records: record.AppendTo(nil),
	}
	bytes := batch.AppendTo(nil)
	binary.BigEndian.PutUint32(bytes[8:], uint32(len(bytes)-12))
	binary.BigEndian.PutUint32(bytes[17:], crc32.Checksum(bytes[21:], crc32.MakeTable(crc32.Castagnoli)))
	return bytes
}

// Values nothing can compress, or JSON as services write it.
type values struct {
	o      options
	random *rand.Rand
	pool   []byte
}

func newValues(o options, seed int64) *values {
	v := &values{o: o, random: rand.New(rand.NewSource(seed)), pool: make([]byte, 8<<20)}
	v.random.Read(v.pool)
	return v
}

func (v *values) record(i int) *kgo.Record {
	return &kgo.Record{Partition: int32(i % v.o.partitions), Value: v.value(i), Topic: v.o.topic}
}

func (v *values) value(i int) []byte {
	if v.o.compression == "none" {
		at := v.random.Intn(len(v.pool) - v.o.size)
		return v.pool[at : at+v.o.size]
	}
	return []byte(fmt.Sprintf(
		`{"id":"%016x","type":"order.updated","customer":{"id":%d,"country":"%s","segment":"consumer"},"items":[{"sku":"SKU-%05d","quantity":%d,"price":%d.%02d},`+
			`{"sku":"SKU-%05d","quantity":%d,"price":%d.%02d}],"currency":"EUR","status":"%s","warehouse":"west-%d","created":%d,"note":"leave at the door, ring twice"}`,
		v.random.Uint64(), v.random.Intn(1_000_000), pick(v.random, "DE", "FR", "NL", "US", "JP"),
		v.random.Intn(100_000), 1+v.random.Intn(9), v.random.Intn(500), v.random.Intn(100),
		v.random.Intn(100_000), 1+v.random.Intn(9), v.random.Intn(500), v.random.Intn(100),
		pick(v.random, "placed", "paid", "shipped"), v.random.Intn(8), 1_700_000_000_000+int64(i)))
}

func pick(random *rand.Rand, choices ...string) string { return choices[random.Intn(len(choices))] }
