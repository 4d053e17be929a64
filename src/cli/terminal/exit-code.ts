/** The program's exit codes: part of the contract, scripts rely on them. */
export const EXIT = {
  /** Done, or yes. */
  DONE: 0,
  /** No: different, unhealthy, behind, rejected. */
  NO: 1,
  /** Wrong usage or configuration. */
  USAGE: 2,
  /** Could not find out or finish: network, database, lease held elsewhere. */
  FAILED: 3,
  /** What became of a submission is unknown. */
  UNKNOWN: 4,
  /** Interrupted before it was done. */
  INTERRUPTED: 130,
} as const;

/** What each tells, for the help and docs/commands.md. */
export const EXIT_MEANINGS: Readonly<Record<ExitCode, string>> = {
  [EXIT.DONE]: 'done, or yes',
  [EXIT.NO]: 'no: different, unhealthy, behind, rejected',
  [EXIT.USAGE]: 'wrong usage or configuration',
  [EXIT.FAILED]: 'could not find out or finish',
  [EXIT.UNKNOWN]: 'outcome of a submission unknown: never repeat it',
  [EXIT.INTERRUPTED]: 'interrupted',
};

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
