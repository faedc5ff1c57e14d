module flightlog.test/eventstore-client-go

go 1.24.0

require (
	github.com/EventStore/EventStore-Client-Go/v4 v4.2.0
	github.com/google/uuid v1.6.0
)

require (
	golang.org/x/net v0.30.0 // indirect
	golang.org/x/sys v0.26.0 // indirect
	golang.org/x/text v0.19.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20241007155032-5fefd90f89a9 // indirect
	google.golang.org/grpc v1.67.1 // indirect
	google.golang.org/protobuf v1.35.1 // indirect
)
