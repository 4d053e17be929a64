// The image's health check: 0 while the daemon's inside listener answers `GET /healthz`. Node itself asks: the image
// has no curl.
import { get } from 'node:http';

const port = process.env['MIRROR_HTTP_PORT'] || '8080';

get({ host: '127.0.0.1', port, path: '/healthz', timeout: 3000 }, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1);
})
  .on('timeout', () => process.exit(1))
  .on('error', () => process.exit(1));
