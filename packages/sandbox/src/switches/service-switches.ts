import { parseKeys } from '../keys.ts';
import { integer, text } from './switch-kind.ts';

/** Addresses and keys of the sandbox, and the seed and epoch of its data. */
export const SERVICE_SWITCHES = {
  host: text('127.0.0.1', 'address that the service listens on (the control API: always loopback)', (value) =>
    value === '' ? 'must not be empty' : undefined,
  ),
  port: integer(8090, 'port of the service; 0 takes a free one', { max: 65_535 }),
  controlPort: integer(8091, 'port of the control API; 0 takes a free one', { max: 65_535 }),
  keys: text(
    'sandbox-key=1001',
    'API keys and their owners: key=user_id,key=user_id…',
    (value) => {
      const keys = parseKeys(value);
      return 'problem' in keys ? keys.problem : undefined;
    },
    { live: true },
  ),
  memory: text(
    '',
    'file that keeps what was asked of the service (webhooks, operations, changes) for its next start; default: none',
    () => undefined,
  ),
  seed: integer(1, 'what all data is derived from', { max: 4_294_967_295 }),
  epoch: text(
    'start',
    'moment (ISO 8601) at which the rates begin to count; the same seed and epoch give the same data',
    (value) =>
      value === 'start' || !Number.isNaN(Date.parse(value)) ? undefined : 'must be an ISO 8601 time or start',
  ),
};
