/** What documents, docker-compose.yml and the scrubbing of output have to know about an environment variable. */
export interface Variable {
  /** What docs/settings.md says of it: a line of Markdown. Absent: it is not listed there. */
  readonly means?: string;
  /** The heading in docs/operations.md that says more. */
  readonly section?: string;
  /** What no output may contain: its whole text, each part of a list, or the password in a URL. Absent: nothing. */
  readonly secret?: 'text' | 'list' | 'url';
  /**
   * What docker-compose.yml does with it. Absent: hands it on from the environment or `.env`.
   * - `image`: leaves it to the Dockerfile, which sets it
   * - `none`: does not hand it on
   * - a value: sets it to that
   */
  readonly compose?: 'image' | 'none' | { readonly value: string };
}
