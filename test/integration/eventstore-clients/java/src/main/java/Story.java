import com.eventstore.dbclient.*;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Reads and writes a log with the official Java client; prints the outcome of each step as a line of JSON. */
public class Story {
  static final String GROUP = "workers";

  static String list(List<String> texts) {
    return texts.stream().map(text -> "\"" + text + "\"").collect(Collectors.joining(",", "[", "]"));
  }

  static String quoted(byte[] json) {
    return "\"" + new String(json, StandardCharsets.UTF_8).replace("\"", "\\\"") + "\"";
  }

  static void say(String step, String rest) {
    System.out.println("{\"step\":\"" + step + "\"," + rest + "}");
  }

  static EventData event(String type) {
    return EventDataBuilder.json(type, "{\"from\":\"java\"}".getBytes(StandardCharsets.UTF_8))
        .metadataAsBytes("{\"kept\":true}".getBytes(StandardCharsets.UTF_8))
        .build();
  }

  static List<String> types(ReadResult result) {
    return result.getEvents().stream().map(each -> each.getOriginalEvent().getEventType()).collect(Collectors.toList());
  }

  /** Waits until the group has this many parked events and none in flight. */
  static PersistentSubscriptionToStreamInfo settled(
      EventStoreDBPersistentSubscriptionsClient client, String stream, long parked) throws Exception {
    for (long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20); ; Thread.sleep(50)) {
      PersistentSubscriptionToStreamInfo info = client.getInfoToStream(stream, GROUP).get().orElseThrow();
      PersistentSubscriptionToStreamStats stats = info.getStats();
      if (stats.getTotalInFlightMessages() == 0 && stats.getParkedMessageCount() == parked) return info;
      if (System.nanoTime() > end)
        throw new IllegalStateException(
            "in flight " + stats.getTotalInFlightMessages() + ", parked " + stats.getParkedMessageCount());
    }
  }

  /** Parks the event Live, has Continued retried once, and keeps the type and the number of retries of each delivery. */
  static class Consumer extends PersistentSubscriptionListener {
    final BlockingQueue<String> delivered = new LinkedBlockingQueue<>();

    @Override
    public void onEvent(PersistentSubscription subscription, int retries, ResolvedEvent each) {
      String type = each.getOriginalEvent().getEventType();
      String what = type + "/" + retries;
      if (what.equals("Live/0")) subscription.nack(NackAction.Park, "no", each);
      else if (what.equals("Continued/0")) subscription.nack(NackAction.Retry, "again", each);
      else subscription.ack(each);
      delivered.add(what);
    }

    List<String> take(int count) throws InterruptedException {
      List<String> taken = new ArrayList<>();
      while (taken.size() < count) {
        String next = delivered.poll(20, TimeUnit.SECONDS);
        if (next == null) throw new IllegalStateException("delivered only " + taken);
        taken.add(next);
      }
      return taken;
    }
  }

  /** True when the call is refused because the subscription exists already. */
  static boolean isRefusedAsExisting(Future<?> call) throws InterruptedException {
    try {
      call.get();
      return false;
    } catch (ExecutionException failure) {
      return failure.getCause().toString().contains("ALREADY_EXISTS");
    }
  }

  static void groups(EventStoreDBPersistentSubscriptionsClient client, String stream) throws Exception {
    CreatePersistentSubscriptionToStreamOptions options = CreatePersistentSubscriptionToStreamOptions.get().fromStart();
    options.maxRetryCount(2);
    client.createToStream(stream, GROUP, options).get();
    boolean exists = isRefusedAsExisting(client.createToStream(stream, GROUP, options));
    UpdatePersistentSubscriptionToStreamOptions update = UpdatePersistentSubscriptionToStreamOptions.get().fromStart();
    update.maxRetryCount(5);
    client.updateToStream(stream, GROUP, update).get();
    List<String> listed = client.listToStream(stream).get().stream()
        .map(PersistentSubscriptionInfo::getGroupName).collect(Collectors.toList());

    Consumer consumer = new Consumer();
    PersistentSubscription subscription = client.subscribeToStream(stream, GROUP, consumer).get();
    List<String> delivered = consumer.take(4).stream().sorted().collect(Collectors.toList());
    PersistentSubscriptionToStreamInfo info = settled(client, stream, 1);
    subscription.stop();

    List<String> replayed = new ArrayList<>();
    CountDownLatch again = new CountDownLatch(1);
    subscription = client.subscribeToStream(stream, GROUP, new PersistentSubscriptionListener() {
      @Override
      public void onEvent(PersistentSubscription to, int retries, ResolvedEvent each) {
        replayed.add(each.getOriginalEvent().getEventType());
        to.ack(each);
        again.countDown();
      }
    }).get();
    client.replayParkedMessagesToStream(stream, GROUP).get();
    if (!again.await(20, TimeUnit.SECONDS)) throw new IllegalStateException("nothing was replayed");
    settled(client, stream, 0);
    subscription.stop();
    client.deleteToStream(stream, GROUP).get();
    boolean gone = client.getInfoToStream(stream, GROUP).get().isEmpty();

    String ofAll = "java-" + UUID.randomUUID();
    client.createToAll(ofAll, CreatePersistentSubscriptionToAllOptions.get().fromStart()
        .filter(SubscriptionFilter.newBuilder().addStreamNamePrefix(stream).build())).get();
    List<String> all = new ArrayList<>();
    CountDownLatch three = new CountDownLatch(3);
    subscription = client.subscribeToAll(ofAll, new PersistentSubscriptionListener() {
      @Override
      public void onEvent(PersistentSubscription to, int retries, ResolvedEvent each) {
        all.add(each.getOriginalEvent().getEventType());
        to.ack(each);
        three.countDown();
      }
    }).get();
    if (!three.await(20, TimeUnit.SECONDS)) throw new IllegalStateException("of $all came only " + all);
    subscription.stop();
    client.deleteToAll(ofAll).get();
    say("groups", "\"exists\":" + exists + ",\"listed\":" + list(listed)
        + ",\"retries\":" + info.getSettings().getMaxRetryCount() + ",\"delivered\":" + list(delivered)
        + ",\"parked\":" + info.getStats().getParkedMessageCount() + ",\"replayed\":\"" + replayed.get(0)
        + "\",\"gone\":" + gone + ",\"all\":" + list(all));
  }

  public static void main(String[] arguments) throws Exception {
    EventStoreDBClientSettings settings =
        EventStoreDBConnectionString.parseOrThrow("esdb://" + arguments[0] + "?tls=false");
    EventStoreDBClient client = EventStoreDBClient.create(settings);
    String stream = "java-" + UUID.randomUUID();
    AppendToStreamOptions fresh = AppendToStreamOptions.get().expectedRevision(ExpectedRevision.noStream());

    EventData first = event("Begun");
    client.appendToStream(stream, fresh, first, event("Continued")).get();
    client.appendToStream(stream, fresh, first).get();
    ReadResult read = client.readStream(stream, ReadStreamOptions.get().fromStart()).get();
    say("append", "\"revisions\":" + read.getEvents().stream()
        .map(each -> String.valueOf(each.getOriginalEvent().getRevision())).collect(Collectors.toList()));

    RecordedEvent begun = read.getEvents().get(0).getOriginalEvent();
    ReadResult backwards = client.readStream(stream, ReadStreamOptions.get().backwards().fromEnd()).get();
    List<String> all = client.readAll(ReadAllOptions.get().fromStart()).get().getEvents().stream()
        .filter(each -> each.getOriginalEvent().getStreamId().equals(stream))
        .map(each -> each.getOriginalEvent().getEventType()).collect(Collectors.toList());
    say("read", "\"types\":" + list(types(read)) + ",\"data\":" + quoted(begun.getEventData())
        + ",\"metadata\":" + quoted(begun.getUserMetadata())
        + ",\"backwards\":" + list(types(backwards)) + ",\"all\":" + list(all));

    boolean seen = false;
    try {
      client.appendToStream(stream, fresh, event("Late")).get();
    } catch (ExecutionException failure) {
      seen = failure.getCause() instanceof WrongExpectedVersionException;
    }
    say("conflict", "\"seen\":" + seen);

    List<String> tailed = new ArrayList<>();
    CountDownLatch live = new CountDownLatch(1);
    Subscription subscription = client.subscribeToAll(new SubscriptionListener() {
      @Override
      public void onEvent(Subscription unused, ResolvedEvent each) {
        if (!each.getOriginalEvent().getStreamId().equals(stream)) return;
        tailed.add(each.getOriginalEvent().getEventType());
        if (each.getOriginalEvent().getEventType().equals("Live")) live.countDown();
      }

      @Override
      public void onCaughtUp(Subscription unused) {
        client.appendToStream(stream, AppendToStreamOptions.get().expectedRevision(1), event("Live"));
      }
    }, SubscribeToAllOptions.get().fromStart()
        .filter(SubscriptionFilter.newBuilder().addStreamNamePrefix("java-").build())).get();
    if (!live.await(20, TimeUnit.SECONDS)) throw new IllegalStateException("nothing live was seen");
    subscription.stop();
    say("tail", "\"types\":" + list(tailed));
    EventStoreDBPersistentSubscriptionsClient groups = EventStoreDBPersistentSubscriptionsClient.create(settings);
    groups(groups, stream);
    groups.shutdown().get();
    client.shutdown().get();
    System.exit(0);
  }
}
