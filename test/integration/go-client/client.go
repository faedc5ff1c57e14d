// Calls a control plane as engines and command lines in Go do: `client ADDRESS EXECUTION` takes each of the steps below
// and prints its outcome as a line of JSON; `client ADDRESS` calls until the connection was lost and there is another.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"flightlog.test/client/idl/flyteidl/admin"
	"flightlog.test/client/idl/flyteidl/core"
	"flightlog.test/client/idl/flyteidl/event"
	"flightlog.test/client/idl/flyteidl/service"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const limit = 30 * time.Second

type control struct {
	connection *grpc.ClientConn
	admin      service.AdminServiceClient
	run        *core.WorkflowExecutionIdentifier
}

func expect(err error, code codes.Code) error {
	if status.Code(err) != code {
		return fmt.Errorf("not %v, but %w", code, errors.Join(err, errors.New(status.Code(err).String())))
	}
	return nil
}

func (c control) list(ctx context.Context, options ...grpc.CallOption) error {
	_, err := c.admin.ListProjects(ctx, &admin.ProjectListRequest{}, options...)
	return err
}

func (c control) reportRun(ctx context.Context, phase core.WorkflowExecution_Phase) error {
	_, err := c.admin.CreateWorkflowEvent(ctx, &admin.WorkflowExecutionEventRequest{RequestId: "run", Event: &event.WorkflowExecutionEvent{
		ExecutionId: c.run, ProducerId: "propeller", Phase: phase, OccurredAt: timestamppb.Now(),
	}})
	return err
}

func (c control) node(name string) *core.NodeExecutionIdentifier {
	return &core.NodeExecutionIdentifier{NodeId: name, ExecutionId: c.run}
}

func (c control) reportNode(ctx context.Context, name string, phase core.NodeExecution_Phase, inputs string, options ...grpc.CallOption) error {
	_, err := c.admin.CreateNodeEvent(ctx, &admin.NodeExecutionEventRequest{RequestId: "node", Event: &event.NodeExecutionEvent{
		Id: c.node(name), ProducerId: "propeller", Phase: phase, OccurredAt: timestamppb.Now(),
		InputValue: &event.NodeExecutionEvent_InputUri{InputUri: inputs},
	}}, options...)
	return err
}

func (c control) reportsAgain(ctx context.Context) error {
	for _, phase := range []core.NodeExecution_Phase{core.NodeExecution_QUEUED, core.NodeExecution_RUNNING} {
		if err := c.reportNode(ctx, "n0", phase, "s3://inputs"); err != nil {
			return err
		}
		if err := expect(c.reportNode(ctx, "n0", phase, "s3://inputs"), codes.AlreadyExists); err != nil {
			return err
		}
	}
	answer, err := c.admin.GetNodeExecution(ctx, &admin.NodeExecutionGetRequest{Id: c.node("n0")})
	if err == nil && answer.GetClosure().GetPhase() != core.NodeExecution_RUNNING {
		err = fmt.Errorf("the node is %v", answer.GetClosure().GetPhase())
	}
	return err
}

func (c control) readsDetails(ctx context.Context) error {
	if err := c.reportRun(ctx, core.WorkflowExecution_SUCCEEDED); err != nil {
		return err
	}
	_, err := c.admin.TerminateExecution(ctx, &admin.ExecutionTerminateRequest{Id: c.run, Cause: "late"})
	for _, refused := range []error{err, c.reportRun(ctx, core.WorkflowExecution_RUNNING)} {
		if err := expect(refused, codes.FailedPrecondition); err != nil {
			return err
		}
		details := status.Convert(refused).Details()
		if len(details) != 1 {
			return fmt.Errorf("%d details", len(details))
		}
		reason, isReason := details[0].(*admin.EventFailureReason)
		if !isReason || reason.GetAlreadyInTerminalState().GetCurrentPhase() != "SUCCEEDED" {
			return fmt.Errorf("the detail %v", details[0])
		}
	}
	return nil
}

func (c control) atOnce(ctx context.Context) error {
	var group sync.WaitGroup
	failures := make(chan error, 500)
	for range 500 {
		group.Go(func() {
			for range 4 {
				if err := c.list(ctx); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(failures)
	return <-failures
}

func (c control) cancels(ctx context.Context) error {
	for i := range 100 {
		short, cancel := context.WithCancel(ctx)
		time.AfterFunc(time.Duration(i*20)*time.Microsecond, cancel)
		if err := c.list(short); err != nil && status.Code(err) != codes.Canceled {
			return err
		}
		cancel()
	}
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	watch, err := health.NewHealthClient(c.connection).Watch(short, &health.HealthCheckRequest{})
	for err == nil {
		_, err = watch.Recv()
	}
	return errors.Join(expect(err, codes.DeadlineExceeded), c.list(ctx))
}

func (c control) sendsMuch(ctx context.Context) error {
	for _, options := range [][]grpc.CallOption{nil, {grpc.UseCompressor(gzip.Name)}} {
		name := fmt.Sprintf("large-%d", len(options))
		if err := c.reportNode(ctx, name, core.NodeExecution_RUNNING, strings.Repeat("u", 5<<20), options...); err != nil {
			return err
		}
		err := c.reportNode(ctx, name, core.NodeExecution_SUCCEEDED, strings.Repeat("u", 65<<20), options...)
		if !strings.Contains(fmt.Sprint(err), "message larger than max") {
			return fmt.Errorf("65 MiB: %w", err)
		}
		if err := expect(err, codes.ResourceExhausted); err != nil {
			return err
		}
	}
	return nil
}

func (c control) sendsMetadata(ctx context.Context) error {
	with := func(pairs ...string) error { return c.list(metadata.AppendToOutgoingContext(ctx, pairs...)) }
	if err := with("some-bin", "\x00\xff", "some-bin", "again", "some", "text"); err != nil {
		return err
	}
	if err := with("much", strings.Repeat("v", 60_000)); err != nil {
		return err
	}
	// The client itself refuses to send this, because the server has announced its limit.
	return errors.Join(expect(with("much", strings.Repeat("v", 100_000)), codes.Internal), c.list(ctx))
}

func (c control) readsHealthAndReflection(ctx context.Context) error {
	watch, err := health.NewHealthClient(c.connection).Watch(ctx, &health.HealthCheckRequest{Service: "flyteadmin"})
	if err != nil {
		return err
	}
	if answer, err := watch.Recv(); err != nil || answer.GetStatus() != health.HealthCheckResponse_SERVING {
		return fmt.Errorf("health: %v %w", answer, err)
	}
	stream, err := reflection.NewServerReflectionClient(c.connection).ServerReflectionInfo(ctx)
	if err != nil {
		return err
	}
	for _, symbol := range []string{"platformidl.service.AdminService", "flyteidl.service.AdminService"} {
		asked := &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol}
		if err := stream.Send(&reflection.ServerReflectionRequest{MessageRequest: asked}); err != nil {
			return err
		}
		answer, err := stream.Recv()
		if err != nil || len(answer.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
			return fmt.Errorf("%s: %v %w", symbol, answer.GetErrorResponse(), err)
		}
	}
	return stream.CloseSend()
}

func (c control) callsUnknown(ctx context.Context) error {
	err := c.connection.Invoke(ctx, "/flyteidl.service.AdminService/None", &admin.GetVersionRequest{}, &admin.GetVersionResponse{})
	missing := &admin.WorkflowExecutionGetRequest{Id: &core.WorkflowExecutionIdentifier{Project: "p", Domain: "d", Name: "ü\n%41"}}
	_, notFound := c.admin.GetExecution(ctx, missing)
	if !strings.Contains(status.Convert(notFound).Message(), "ü") {
		return fmt.Errorf("the text %q", status.Convert(notFound).Message())
	}
	return errors.Join(expect(err, codes.Unimplemented), expect(notFound, codes.NotFound))
}

var steps = []struct {
	name string
	take func(control, context.Context) error
}{
	{"reports a node, and gets AlreadyExists for repeated reports", control.reportsAgain},
	{"sends messages of 5 MiB, compressed or not, and gets ResourceExhausted for 65 MiB", control.sendsMuch},
	{"reads the details of a refusal as messages of its own package", control.readsDetails},
	{"makes 500 calls at once", control.atOnce},
	{"cancels calls, lets a deadline pass, and then calls again", control.cancels},
	{"sends metadata of bytes and texts, and refuses to send more than the limit of the server", control.sendsMetadata},
	{"watches the health, and gets service descriptions under both names of the package", control.readsHealthAndReflection},
	{"gets Unimplemented for an unknown RPC, and NotFound for an unknown execution", control.callsUnknown},
}

// Makes calls without a pause, each waiting for a connection, until the connection was lost and there is another.
func (c control) outlive() error {
	ctx, cancel := context.WithTimeout(context.Background(), 4*limit)
	defer cancel()
	var isOver atomic.Bool
	var group sync.WaitGroup
	failures := make(chan error, 20)
	for range 20 {
		group.Go(func() {
			for !isOver.Load() {
				if err := c.list(ctx, grpc.WaitForReady(true)); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	for c.connection.GetState() != connectivity.Ready && c.connection.WaitForStateChange(ctx, c.connection.GetState()) {
	}
	fmt.Println("calling")
	c.connection.WaitForStateChange(ctx, connectivity.Ready)
	for c.connection.GetState() != connectivity.Ready && c.connection.WaitForStateChange(ctx, c.connection.GetState()) {
	}
	isOver.Store(true)
	group.Wait()
	close(failures)
	return errors.Join(<-failures, ctx.Err())
}

func main() {
	connection, err := grpc.NewClient(os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	c := control{connection: connection, admin: service.NewAdminServiceClient(connection)}
	if len(os.Args) == 2 {
		if err := c.outlive(); err != nil {
			panic(err)
		}
		return
	}
	c.run = &core.WorkflowExecutionIdentifier{Project: "flytesnacks", Domain: "development", Name: os.Args[2]}
	for _, step := range steps {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		said := map[string]any{"step": step.name, "ok": true}
		if err := step.take(c, ctx); err != nil {
			said["ok"], said["error"] = false, err.Error()
		}
		cancel()
		line, _ := json.Marshal(said)
		fmt.Println(string(line))
	}
}
