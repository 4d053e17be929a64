export const YOUNG_HEAP: string;
export const OLD_HEAP: string;
