import {
  Server,
  ServerCredentials,
  type sendUnaryData,
  type ServerDuplexStream,
  type ServerUnaryCall,
} from '@grpc/grpc-js';

// The baseline: a gRPC server of the same library, in a process of its own, that returns the bytes of each request.

/** Serializes and deserializes nothing: messages stay bytes. */
const asIs = (bytes: Buffer): Buffer => bytes;

const server = new Server({ 'grpc.max_receive_message_length': -1 });
server.addService(
  {
    echo: {
      path: '/bench.Echo/Echo',
      requestStream: false,
      responseStream: false,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    },
    echoStream: {
      path: '/bench.Echo/EchoStream',
      requestStream: true,
      responseStream: true,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    },
  },
  {
    echo: (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => {
      answer(null, call.request);
    },
    echoStream: (call: ServerDuplexStream<Buffer, Buffer>) => {
      call.on('data', (bytes: Buffer) => call.write(bytes));
      call.on('end', () => call.end());
    },
  },
);
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  process.send?.({ address: `127.0.0.1:${port}` });
});
process.on('disconnect', () => process.exit(0));
