export const YOUNG_HEAP: string;
export const OLD_HEAP: string;
export const ARENAS: Readonly<Record<string, string>>;
