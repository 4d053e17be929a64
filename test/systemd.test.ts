import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { EXIT } from '../src/terminal/shell.ts';
import { isTested } from './support/optional.ts';
import { makeFolder } from './support/processes/program.ts';
import { blocksOf } from './support/readme/readme.ts';
import { ROOT } from './support/rules/source-files.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const [, section = ''] = /^## Under systemd\n([\s\S]*?)^## /m.exec(read('docs/run.md')) ?? [];
/** The unit file as a user copies it. */
const unit = blocksOf(section).find(({ language }) => language === 'ini')?.code ?? '';
const settings = new Map([...unit.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]));
const { bin } = JSON.parse(read('package.json')) as { readonly bin: Readonly<Record<string, string>> };
const [[name, launcher] = ['', '']] = Object.entries(bin);

describe('the unit for systemd', () => {
  it('starts the program that the steps before it install, with the settings that they write', () => {
    const command = `/opt/${name}/node_modules/.bin/${name}`;
    expect(settings.get('ExecStart')).toBe(`${command} start`);
    expect(section).toContain(`npm install --prefix /opt/${name} `);
    const file = settings.get('EnvironmentFile') ?? '';
    expect(section).toContain(`/dev/stdin ${file}\n`);
    expect(section).toContain(`ln -s ${file} ${settings.get('WorkingDirectory')}/.env\n`);
    expect(section).toContain(`useradd --system --home-dir ${settings.get('WorkingDirectory')} `);
    expect(settings.get('WorkingDirectory')).toBe(`/var/lib/${settings.get('StateDirectory')}`);
    expect([settings.get('User'), settings.get('Group')]).toEqual([name, name]);
  });

  it('has a function beside it that runs a command as its user, in its folder, with each word as it was given', () => {
    const code = blocksOf(section).map((block) => block.code);
    const shown = /^mirror\(\) \{[\s\S]*?^\}$/m.exec(code.join('\n'))?.[0] ?? '';
    const place = makeFolder();
    try {
      const program = join(place.path, `opt/node_modules/.bin/${name}`);
      mkdirSync(join(place.path, 'opt/node_modules/.bin'), { recursive: true });
      mkdirSync(join(place.path, 'work'));
      writeFileSync(program, '#!/bin/sh\necho "$PWD"; printf "%s\\n" "$@"\n', { mode: 0o755 });
      const sudo = 'sudo() { while [ "$1" != -- ]; do echo "$1"; shift; done; shift; "$@"; }';
      const folder = settings.get('WorkingDirectory') ?? '';
      const here = shown.replace(folder, join(place.path, 'work')).replace(`/opt/${name}`, join(place.path, 'opt'));
      const script = `${sudo}\n${here}\nmirror sql "select 1"`;
      const [, options = '', ran] =
        /^([\s\S]*?)^(\/[\s\S]*)$/m.exec(execFileSync('bash', ['-c', script]).toString()) ?? [];
      expect(options.split('\n')).toContain(settings.get('User'));
      expect(ran).toBe(`${join(place.path, 'work')}\nsql\nselect 1\n`);
    } finally {
      place.remove();
    }
  });

  it('is restarted for ever after a failure, but not with a wrong configuration', () => {
    expect(Object.fromEntries(settings)).toMatchObject({
      Restart: 'on-failure',
      RestartPreventExitStatus: String(EXIT.USAGE),
      SuccessExitStatus: String(EXIT.INTERRUPTED),
      StartLimitIntervalSec: '0',
    });
  });

  it('is stopped by a signal to the daemon alone, which has longer than its own bound', () => {
    expect(settings.get('KillMode')).toBe('mixed');
    expect(settings.get('KillSignal')).toBe('SIGTERM');
    const bound = Number(/^const STOP_BOUND = ([\d_]+);$/m.exec(read('src/main.ts'))?.[1]?.replaceAll('_', ''));
    expect(bound).toBeGreaterThan(0);
    expect(Number(settings.get('TimeoutStopSec')) * 1000).toBeGreaterThan(bound);
  });

  it('has no rights, writes to its own folder alone, and may compile at run time', () => {
    expect(Object.fromEntries(settings)).toMatchObject({
      NoNewPrivileges: 'yes',
      CapabilityBoundingSet: '',
      ProtectSystem: 'strict',
      ProtectHome: 'yes',
      PrivateTmp: 'yes',
      SystemCallFilter: '@system-service',
    });
    // V8 and PostgreSQL's JIT write memory and run it.
    expect(settings.has('MemoryDenyWriteExecute')).toBe(false);
  });
});

const version = await promisify(execFile)('systemd-analyze', ['--version']).then(
  ({ stdout }) => Number(/^systemd (\d+)/.exec(stdout)?.[1]),
  () => 0,
);
const hasSystemd = isTested(
  'TEST_SYSTEMD',
  version >= 250,
  'systemd-analyze 250 or newer is not installed (apt-get install systemd)',
  'whether systemd takes the unit',
);

describe.runIf(hasSystemd)('the unit for systemd, asked of systemd-analyze', () => {
  const folder = makeFolder();
  afterAll(() => folder.remove());

  /** What it says of a unit, with the checkout's launcher in place of the installed one. */
  async function analyzed(text: string, ...how: readonly string[]): Promise<string> {
    const path = join(folder.path, `${name}.service`);
    writeFileSync(path, text.replace(/^ExecStart=\S+/m, `ExecStart=${join(ROOT, launcher)}`));
    const { stderr } = await promisify(execFile)('systemd-analyze', [...how, path]);
    return stderr;
  }

  it('has no line that is not understood', async () => {
    expect(await analyzed(unit, 'verify')).toBe('');
    expect(await analyzed(unit.replace('on-failure', 'at-times'), 'verify')).toContain('at-times');
  });

  it('is exposed to a fifth at most, on a scale where a unit without hardening has nearly all', async () => {
    const judged = ['security', '--offline=true', '--no-pager', '--threshold=20'];
    await analyzed(unit, ...judged);
    const plain = unit.replace(/^# Hardening[\s\S]*?^\[Install\]/m, '[Install]');
    await expect(analyzed(plain, ...judged)).rejects.toThrow();
  });
});
