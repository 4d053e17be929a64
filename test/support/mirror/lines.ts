/** Rows of a query, each as its values with a blank between; NULL: `-`. Two columns of one name are one. */
export async function lines(on: { query<T>(text: string): Promise<T[]> }, text: string): Promise<readonly string[]> {
  const rows = await on.query<Readonly<Record<string, string | number | boolean | null>>>(text);
  return rows.map((row) =>
    Object.values(row)
      .map((value) => value ?? '-')
      .join(' '),
  );
}
