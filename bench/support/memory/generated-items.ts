/** A generated job's JSON text: its ID stands between head and middle, and between middle and tail. */
export const ITEM_HEAD = '{"company":"Company ';
/** Fields in order, no white space: the canonical text is the text itself. */
export const ITEM_MIDDLE = `","domain":"example.com","job_id":`;
export const ITEM_TAIL = `,"notes":"${'Nothing is known of them. '.repeat(16)}","status":"completed"}`;
