/**
 * The composition root: what the command line asks of the program. Where each part comes from and who gets it is
 * said in src/app/: process.ts (what every process has), open-account.ts (what one account consists of),
 * run-daemon.ts and run-sync.ts (what runs).
 */
export type { PassProgress } from './app/sync/pass-progress.ts';
export type { CollectionPass } from './app/sync/pass.ts';
export { runDaemon, type DaemonOptions } from './app/daemon/run-daemon.ts';
export { runSync, type SyncOptions, type SyncReport } from './app/sync/run-sync.ts';
export { runRetry, type RetryReport } from './app/quarantine/run-retry.ts';
export { runVerify, type VerifyOptions, type VerifyReport } from './app/verify/run-verify.ts';
