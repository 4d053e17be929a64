import type { html } from 'hono/html';

/** Escaped HTML, as the tag `html` makes it; a promise where a part of it is one. */
export type Html = ReturnType<typeof html>;
