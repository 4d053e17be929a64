/** What the check asks of Superset's REST API, as somebody who has logged in. */
export class SupersetClient {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  private constructor(url: string, headers: Readonly<Record<string, string>>) {
    this.#url = url;
    this.#headers = headers;
  }

  static async login(url: string, username: string, password: string): Promise<SupersetClient> {
    const login = await fetch(`${url}/api/v1/security/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username, password, provider: 'db' }),
    });
    const { access_token: token } = (await login.json()) as { access_token: string };
    const authorization = `Bearer ${token}`;
    const asked = await fetch(`${url}/api/v1/security/csrf_token/`, { headers: { authorization } });
    const { result: csrf } = (await asked.json()) as { result: string };
    // The token belongs to the session that the cookie names.
    const cookie = (asked.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '';
    return new SupersetClient(url, { authorization, 'x-csrftoken': csrf, cookie, referer: url });
  }

  /** @param passwords by the path of the database's file in the export */
  async importDashboard(zip: Buffer, passwords: Readonly<Record<string, string>>): Promise<void> {
    const form = new FormData();
    form.append('formData', new Blob([new Uint8Array(zip)], { type: 'application/zip' }), 'dashboard.zip');
    form.append('passwords', JSON.stringify(passwords));
    form.append('overwrite', 'true');
    await this.#ask('POST', '/api/v1/dashboard/import/', form);
  }

  async datasets(): Promise<readonly { readonly id: number }[]> {
    const { result } = await this.#ask<{ result: { id: number }[] }>('GET', '/api/v1/dataset/');
    return result;
  }

  async databases(): Promise<readonly { readonly id: number }[]> {
    const { result } = await this.#ask<{ result: { id: number }[] }>('GET', '/api/v1/database/');
    return result;
  }

  /** "Sync columns from source". */
  async refresh(dataset: number): Promise<void> {
    await this.#ask('PUT', `/api/v1/dataset/${dataset}/refresh`);
  }

  /** Makes a dataset as a user does: Superset finds out its columns, and chooses its time axis. */
  async makeDataset(
    database: number,
    schema: string,
    table: string,
  ): Promise<{ readonly timeAxis: string | null; readonly columns: readonly string[] }> {
    const { id } = await this.#ask<{ id: number }>('POST', '/api/v1/dataset/', {
      database,
      schema,
      table_name: table,
    });
    const { result } = await this.#ask<{
      result: { main_dttm_col: string | null; columns: { id: number; column_name: string }[] };
    }>('GET', `/api/v1/dataset/${id}`);
    return {
      timeAxis: result.main_dttm_col,
      columns: result.columns.toSorted((a, b) => a.id - b.id).map((column) => column.column_name),
    };
  }

  async #ask<Answer>(method: string, path: string, body?: FormData | object): Promise<Answer> {
    const isForm = body instanceof FormData;
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: {
        ...this.#headers,
        ...(isForm || body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as Answer;
  }
}
