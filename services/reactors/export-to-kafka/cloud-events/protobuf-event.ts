import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  type CloudEvent_CloudEventAttributeValue,
  CloudEvent_CloudEventAttributeValueSchema,
  CloudEventSchema,
} from '../../../../proto/gen/io/cloudevents/v1/cloudevents_pb.js';
import type { ContextAttributes } from './cloud-event.js';
import type { Encoding, PublishedDataEncoder } from './encoding.js';

/** The data of an event, or a reference to it. */
type Content = { readonly dataref: string } | { readonly message: Uint8Array };

const valueOf = (attr: CloudEvent_CloudEventAttributeValue['attr']): CloudEvent_CloudEventAttributeValue =>
  create(CloudEvent_CloudEventAttributeValueSchema, { attr });

const protobufEvent = ({ id, source, type, time, ...others }: ContextAttributes, content: Content): Buffer => {
  const attributes = Object.fromEntries(
    Object.entries(others).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, valueOf({ case: 'ceString', value })] as const],
    ),
  );
  attributes['time'] = valueOf({ case: 'ceTimestamp', value: timestampFromDate(new Date(time)) });
  const typeUrl = `type.googleapis.com/${type}`;
  if ('dataref' in content) attributes['dataref'] = valueOf({ case: 'ceUriRef', value: content.dataref });
  else {
    attributes['dataschema'] = valueOf({ case: 'ceUri', value: typeUrl });
    attributes['datacontenttype'] = valueOf({ case: 'ceString', value: 'application/protobuf' });
  }
  // `create` copies the attributes: those that are added to the object afterwards would be missing in the event.
  const event = create(CloudEventSchema, { id, source, specVersion: '1.0', type, attributes });
  if ('message' in content)
    event.data = { case: 'protoData', value: { $typeName: 'google.protobuf.Any', typeUrl, value: content.message } };
  return Buffer.from(toBinary(CloudEventSchema, event));
};

/** The protobuf event format of CloudEvents. */
export const inProtobuf = (dataEncoder: PublishedDataEncoder): Encoding => ({
  contentType: 'application/cloudevents+protobuf',
  whole: async (event, { attributes }) => protobufEvent(attributes, { message: await dataEncoder.message(event) }),
  referring: ({ attributes }, dataref) => protobufEvent(attributes, { dataref }),
});
