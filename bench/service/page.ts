/**
 * What the status page costs the daemon: bytes, and milliseconds from the request to its last byte, of the first page
 * and of one account's page, each made of a sample report with the report itself at hand. Medians of nine.
 *
 *     node bench/service/page.ts [--accounts 1000]
 */
import { servePage } from '../../test/browser/served-page.ts';
import { sampleAccount, sampleLatestRows, sampleReport } from '../../test/support/processes/status-report.ts';
import { readFlags } from '../support/flags.ts';
import { median, printMachine, printTable } from '../support/report.ts';

const flags = readFlags({ accounts: 1000 });
const ASKED = 9;

const lines: string[][] = [];
for (const accounts of [1, 20, flags.accounts]) {
  const report = sampleReport({
    accounts: Array.from({ length: accounts }, (_, index) => sampleAccount({ userId: String(1001 + index) })),
  });
  const server = await servePage(() => report, { latestRows: sampleLatestRows() });
  for (const path of ['', 'accounts/1001', 'api/status']) {
    const took: number[] = [];
    let [bytes, status] = [0, 0];
    for (let run = 0; run < ASKED; run += 1) {
      const begin = performance.now();
      const answer = await fetch(server.url() + path);
      bytes = (await answer.arrayBuffer()).byteLength;
      status = answer.status;
      took.push(performance.now() - begin);
    }
    const size = `${(bytes / 1000).toFixed(1)} kB`;
    lines.push([String(accounts), `/${path}`, String(status), size, `${median(took).toFixed(1)} ms`]);
  }
  await server.stop();
}
printMachine();
printTable(['accounts', 'page', 'status', 'bytes', 'time'], lines);
