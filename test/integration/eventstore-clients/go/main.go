// Reads and writes a log with the official Go client; prints the outcome of each step as a line of JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
)

const group = "workers"

var background = context.Background()

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func say(step string, what map[string]any) {
	what["step"] = step
	line, err := json.Marshal(what)
	check(err)
	fmt.Println(string(line))
}

func event(kind string) esdb.EventData {
	return esdb.EventData{EventID: uuid.New(), EventType: kind, ContentType: esdb.ContentTypeJson,
		Data: []byte(`{"from":"go"}`), Metadata: []byte(`{"kept":true}`)}
}

func gathered(read *esdb.ReadStream, err error) []*esdb.RecordedEvent {
	check(err)
	defer read.Close()
	var found []*esdb.RecordedEvent
	for {
		each, err := read.Recv()
		if errors.Is(err, io.EOF) {
			return found
		}
		check(err)
		found = append(found, each.OriginalEvent())
	}
}

func typesIn(events []*esdb.RecordedEvent, stream string) []string {
	types := []string{}
	for _, each := range events {
		if each.StreamID == stream {
			types = append(types, each.EventType)
		}
	}
	return types
}

// Waits until the group has this many parked events and none in flight.
func settled(client *esdb.Client, stream string, parked int64) *esdb.PersistentSubscriptionInfo {
	for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		info, err := client.GetPersistentSubscriptionInfo(background, stream, group, esdb.GetPersistentSubscriptionOptions{})
		check(err)
		if info.Stats.TotalInFlightMessages == 0 && info.Stats.ParkedMessagesCount == parked {
			return info
		}
		if time.Since(start) > 20*time.Second {
			check(fmt.Errorf("in flight %d, parked %d", info.Stats.TotalInFlightMessages, info.Stats.ParkedMessagesCount))
		}
	}
}

func received(subscription *esdb.PersistentSubscription) *esdb.EventAppeared {
	for {
		message := subscription.Recv()
		if message.SubscriptionDropped != nil {
			check(message.SubscriptionDropped.Error)
		}
		if message.EventAppeared != nil {
			return message.EventAppeared
		}
	}
}

func groups(client *esdb.Client, stream string) {
	settings := esdb.SubscriptionSettingsDefault()
	settings.MaxRetryCount = 2
	options := esdb.PersistentStreamSubscriptionOptions{Settings: &settings, StartFrom: esdb.Start{}}
	check(client.CreatePersistentSubscription(background, stream, group, options))
	again := client.CreatePersistentSubscription(background, stream, group, options)
	refused, isRefused := esdb.FromError(again)
	settings.MaxRetryCount = 5
	check(client.UpdatePersistentSubscription(background, stream, group, options))
	listed, err := client.ListPersistentSubscriptionsForStream(background, stream, esdb.ListPersistentSubscriptionsOptions{})
	check(err)
	names := []string{}
	for _, each := range listed {
		names = append(names, each.GroupName)
	}

	delivered := []string{}
	subscription, err := client.SubscribeToPersistentSubscription(background, stream, group, esdb.SubscribeToPersistentSubscriptionOptions{})
	check(err)
	for len(delivered) < 4 {
		appeared := received(subscription)
		kind := appeared.Event.OriginalEvent().EventType
		delivered = append(delivered, fmt.Sprintf("%s/%d", kind, appeared.RetryCount))
		switch {
		case kind == "Live":
			check(subscription.Nack("no", esdb.NackActionPark, appeared.Event))
		case kind == "Continued" && appeared.RetryCount == 0:
			check(subscription.Nack("again", esdb.NackActionRetry, appeared.Event))
		default:
			check(subscription.Ack(appeared.Event))
		}
	}
	sort.Strings(delivered)
	info := settled(client, stream, 1)
	check(client.ReplayParkedMessages(background, stream, group, esdb.ReplayParkedMessagesOptions{}))
	replayed := received(subscription)
	check(subscription.Ack(replayed.Event))
	settled(client, stream, 0)
	check(subscription.Close())
	check(client.DeletePersistentSubscription(background, stream, group, esdb.DeletePersistentSubscriptionOptions{}))
	_, gone := client.GetPersistentSubscriptionInfo(background, stream, group, esdb.GetPersistentSubscriptionOptions{})
	missing, isFound := esdb.FromError(gone)

	ofAll := "go-" + uuid.NewString()
	check(client.CreatePersistentSubscriptionToAll(background, ofAll, esdb.PersistentAllSubscriptionOptions{
		StartFrom: esdb.Start{}, Filter: &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: []string{stream}}}))
	subscription, err = client.SubscribeToPersistentSubscriptionToAll(background, ofAll, esdb.SubscribeToPersistentSubscriptionOptions{})
	check(err)
	all := []string{}
	for len(all) < 3 {
		appeared := received(subscription)
		all = append(all, appeared.Event.OriginalEvent().EventType)
		check(subscription.Ack(appeared.Event))
	}
	check(subscription.Close())
	check(client.DeletePersistentSubscriptionToAll(background, ofAll, esdb.DeletePersistentSubscriptionOptions{}))
	say("groups", map[string]any{"exists": !isRefused && refused.Code() == esdb.ErrorCodeResourceAlreadyExists,
		"listed": names, "retries": info.Settings.MaxRetryCount, "delivered": delivered, "parked": info.Stats.ParkedMessagesCount,
		"replayed": replayed.Event.OriginalEvent().EventType, "gone": !isFound && missing.Code() == esdb.ErrorCodeResourceNotFound, "all": all})
}

func main() {
	settings, err := esdb.ParseConnectionString("esdb://" + os.Args[1] + "?tls=false")
	check(err)
	settings.Logger = esdb.NoopLogging()
	client, err := esdb.NewClient(settings)
	check(err)
	stream := "go-" + uuid.NewString()
	fresh := esdb.AppendToStreamOptions{ExpectedRevision: esdb.NoStream{}}

	first := event("Begun")
	_, err = client.AppendToStream(background, stream, fresh, first, event("Continued"))
	check(err)
	_, err = client.AppendToStream(background, stream, fresh, first)
	check(err)
	recorded := gathered(client.ReadStream(background, stream, esdb.ReadStreamOptions{From: esdb.Start{}}, 100))
	revisions := []uint64{}
	for _, each := range recorded {
		revisions = append(revisions, each.EventNumber)
	}
	say("append", map[string]any{"revisions": revisions})

	backwards := gathered(client.ReadStream(background, stream, esdb.ReadStreamOptions{From: esdb.End{}, Direction: esdb.Backwards}, 100))
	all := gathered(client.ReadAll(background, esdb.ReadAllOptions{From: esdb.Start{}}, 10_000))
	say("read", map[string]any{"types": typesIn(recorded, stream), "data": string(recorded[0].Data),
		"metadata": string(recorded[0].UserMetadata), "backwards": typesIn(backwards, stream), "all": typesIn(all, stream)})

	_, late := client.AppendToStream(background, stream, fresh, event("Late"))
	conflict, isAppended := esdb.FromError(late)
	say("conflict", map[string]any{"seen": !isAppended && conflict.Code() == esdb.ErrorCodeWrongExpectedVersion})

	tail, err := client.SubscribeToAll(background, esdb.SubscribeToAllOptions{From: esdb.Start{},
		Filter: &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: []string{"go-"}}})
	check(err)
	tailed := []string{}
	for len(tailed) < 3 {
		message := tail.Recv()
		if message.SubscriptionDropped != nil {
			check(message.SubscriptionDropped.Error)
		}
		if message.EventAppeared == nil || message.EventAppeared.OriginalEvent().StreamID != stream {
			continue
		}
		tailed = append(tailed, message.EventAppeared.OriginalEvent().EventType)
		if len(tailed) == 2 {
			_, err = client.AppendToStream(background, stream, esdb.AppendToStreamOptions{ExpectedRevision: esdb.Revision(1)}, event("Live"))
			check(err)
		}
	}
	check(tail.Close())
	say("tail", map[string]any{"types": tailed})
	groups(client, stream)
	check(client.Close())
}
