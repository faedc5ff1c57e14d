import { DataProxyService } from '../../proto/gen/platformidl/service/dataproxy_pb.js';
import { type Route, route } from '../kernel/rpc.js';
import { createDownloadLink, createDownloadLocation } from './rpc-download.js';
import { getData } from './rpc-get-data.js';
import { createUploadLocation } from './rpc-upload.js';
import type { DataProxyServices } from './ports.js';

const { method } = DataProxyService;

export const dataProxyRoutes = (services: DataProxyServices): readonly Route[] => [
  route(method.createUploadLocation, (request) => createUploadLocation(services, request)),
  route(method.createDownloadLocation, (request, call) => createDownloadLocation(services, request, call)),
  route(method.createDownloadLink, (request, call) => createDownloadLink(services, request, call)),
  route(method.getData, (request, call) => getData(services, request, call)),
];
