// Handles each event once, however often it comes.
//
// KAFKA_BROKERS, KAFKA_TOPIC, KAFKA_GROUP, and DATABASE_URL: postgresql://user@host/database, with the tables of inbox.sql.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"
)

// handle is the effect of an event, by the same transaction that remembers its id.
func handle(ctx context.Context, tx pgx.Tx, record *kgo.Record) error {
	_, err := tx.Exec(ctx, "INSERT INTO effects (topic, value) VALUES ($1, $2)", record.Topic, string(record.Value))
	return err
}

func eventID(record *kgo.Record) (id string, found bool) {
	for _, header := range record.Headers {
		if header.Key == "id" {
			return string(header.Value), true
		}
	}
	return "", false
}

func handleOnce(ctx context.Context, connection *pgx.Conn, record *kgo.Record) error {
	id, found := eventID(record)
	if !found { // of somebody else, who writes to the topic as well: what it means is for you to say
		log.Printf("no id: %s, partition %d, offset %d", record.Topic, record.Partition, record.Offset)
		return nil
	}
	return pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error {
		inserted, err := tx.Exec(ctx, "INSERT INTO inbox (id) VALUES ($1) ON CONFLICT DO NOTHING", id)
		if err != nil || inserted.RowsAffected() == 0 {
			return err
		}
		return handle(ctx, tx, record)
	})
}

func run(ctx context.Context) error {
	connection, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer connection.Close(ctx)
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(os.Getenv("KAFKA_BROKERS"), ",")...),
		kgo.ConsumerGroup(os.Getenv("KAFKA_GROUP")),
		kgo.ConsumeTopics(os.Getenv("KAFKA_TOPIC")),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		// A position is kept only of what has been handled; it may be late, since a repeat does no harm.
		kgo.AutoCommitMarks(),
	)
	if err != nil {
		return err
	}
	// Leaves the group. Without it the partitions go to nobody for the session's timeout, 45 seconds.
	defer client.Close()
	for {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, record := range fetches.Records() {
			if err := handleOnce(ctx, connection, record); err != nil {
				return err
			}
			client.MarkCommitRecords(record)
		}
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}
