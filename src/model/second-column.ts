/**
 * The name of a column that is being filled, to take the place of another one (src/mirror/columns/fill-second.ts): views
 * and copies leave it out. It has the other one's number (`pg_attribute.attnum`), and one that never comes again.
 */
export const SECOND_COLUMN = /^_set_type_([0-9]+)_[0-9]+$/;
