// Tests and benches take a port by the program's own way.
export { lastingPort } from '../../src/runtime/lasting-port.ts';
