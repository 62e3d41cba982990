// go_pipe -dsn DSN -slot SLOT -publication NAME -brokers LIST -topic TOPIC [-linger-ms N]
//
// What one gets with the usual Go libraries and no tricks: pglogrepl reads and parses, franz-go produces (idempotent,
// acks=all), and a position is confirmed when all events up to it are acknowledged. Like minimal_pipe it knows one table
// and one topic and gives up at the first surprise. Runs until it is ended.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/twmb/franz-go/pkg/kgo"
)

const confirmEvery = 100 * time.Millisecond

type transaction struct {
	end     pglogrepl.LSN // 0: open
	pending int
}

// Transactions in commit order; confirmed is the end of the last one before which nothing is pending.
type frontier struct {
	lock      sync.Mutex
	open      []*transaction
	confirmed pglogrepl.LSN
}

func (f *frontier) begin() *transaction {
	f.lock.Lock()
	defer f.lock.Unlock()
	t := &transaction{}
	f.open = append(f.open, t)
	return t
}

func (f *frontier) change(t *transaction, pending int, end pglogrepl.LSN) {
	f.lock.Lock()
	defer f.lock.Unlock()
	t.pending += pending
	if end != 0 {
		t.end = end
	}
	for len(f.open) > 0 && f.open[0].end != 0 && f.open[0].pending == 0 {
		f.confirmed = f.open[0].end
		f.open = f.open[1:]
	}
}

// keepalive: the server has nothing for us up to there.
func (f *frontier) keepalive(end pglogrepl.LSN) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if len(f.open) == 0 && end > f.confirmed {
		f.confirmed = end
	}
}

func (f *frontier) position() pglogrepl.LSN {
	f.lock.Lock()
	defer f.lock.Unlock()
	return f.confirmed
}

type pipe struct {
	connection *pgconn.PgConn
	client     *kgo.Client
	frontier   frontier
	current    *transaction
}

func (p *pipe) produce(row *pglogrepl.TupleData) {
	t := p.current
	p.frontier.change(t, 1, 0)
	record := &kgo.Record{
		Key:     row.Columns[2].Data,
		Value:   row.Columns[4].Data,
		Headers: []kgo.RecordHeader{{Key: "id", Value: row.Columns[0].Data}},
	}
	p.client.Produce(context.Background(), record, func(_ *kgo.Record, err error) {
		if err != nil {
			log.Fatalln("go_pipe: produce:", err)
		}
		p.frontier.change(t, -1, 0)
	})
}

func (p *pipe) take(data []byte) {
	message, err := pglogrepl.Parse(data)
	if err != nil {
		log.Fatalln("go_pipe: parse:", err)
	}
	switch message := message.(type) {
	case *pglogrepl.BeginMessage:
		p.current = p.frontier.begin()
	case *pglogrepl.InsertMessage:
		p.produce(message.Tuple)
	case *pglogrepl.CommitMessage:
		p.frontier.change(p.current, 0, message.TransactionEndLSN)
	}
}

// receive takes one message in; false if none came until the deadline.
func (p *pipe) receive(deadline time.Time) bool {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	message, err := p.connection.ReceiveMessage(ctx)
	cancel()
	if err != nil {
		if pgconn.Timeout(err) {
			return false
		}
		log.Fatalln("go_pipe: receive:", err)
	}
	copied, ok := message.(*pgproto3.CopyData)
	if !ok {
		log.Fatalf("go_pipe: unexpected %T", message)
	}
	switch copied.Data[0] {
	case pglogrepl.XLogDataByteID:
		data, err := pglogrepl.ParseXLogData(copied.Data[1:])
		if err != nil {
			log.Fatalln("go_pipe: parse:", err)
		}
		p.take(data.WALData)
	case pglogrepl.PrimaryKeepaliveMessageByteID:
		keepalive, err := pglogrepl.ParsePrimaryKeepaliveMessage(copied.Data[1:])
		if err != nil {
			log.Fatalln("go_pipe: parse:", err)
		}
		p.frontier.keepalive(keepalive.ServerWALEnd)
	}
	return true
}

func (p *pipe) run() {
	for {
		deadline := time.Now().Add(confirmEvery)
		for time.Now().Before(deadline) && p.receive(deadline) {
		}
		at := p.frontier.position()
		status := pglogrepl.StandbyStatusUpdate{WALWritePosition: at, WALFlushPosition: at, WALApplyPosition: at}
		if at == 0 {
			continue
		}
		if err := pglogrepl.SendStandbyStatusUpdate(context.Background(), p.connection, status); err != nil {
			log.Fatalln("go_pipe: confirm:", err)
		}
	}
}

func main() {
	dsn := flag.String("dsn", "", "")
	slot := flag.String("slot", "", "")
	publication := flag.String("publication", "", "")
	brokers := flag.String("brokers", "", "")
	topic := flag.String("topic", "", "")
	linger := flag.Int("linger-ms", 5, "")
	flag.Parse()

	connection, err := pgconn.Connect(context.Background(), *dsn+" replication=database")
	if err != nil {
		log.Fatalln("go_pipe: connect:", err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(*brokers, ",")...), kgo.DefaultProduceTopic(*topic),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerLinger(time.Duration(*linger)*time.Millisecond),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MaxBufferedRecords(100000))
	if err != nil {
		log.Fatalln("go_pipe: kafka:", err)
	}
	arguments := []string{"proto_version '1'", fmt.Sprintf("publication_names '%s'", *publication)}
	err = pglogrepl.StartReplication(context.Background(), connection, *slot, 0,
		pglogrepl.StartReplicationOptions{PluginArgs: arguments})
	if err != nil {
		log.Fatalln("go_pipe: start:", err)
	}
	(&pipe{connection: connection, client: client}).run()
}
