import { Option, type Command } from 'commander';
import { flagOf, SANDBOX_SWITCHES, SWITCH_NAMES } from '@research-mirror/sandbox/switches/sandbox-switches';
import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addSandbox: AddCommand = (program, run) => {
  const command = program
    .command('sandbox')
    .summary('the emulated service, to try and to test against')
    .description(
      'The emulated service: the whole interface with made-up companies, until Ctrl-C, with switches for everything that may ' +
        'differ between services. Its control API (truth, counters, changes, clock, faults) listens on another port.',
    )
    .option('--json', 'addresses as JSON')
    .addHelpText(
      'after',
      examples([
        ['research-mirror sandbox', 'small, with the real rate limits'],
        ['research-mirror sandbox --jobs 10000000 --limits off', 'large and fast'],
        ['research-mirror sandbox --fault-500 0.05 --fault-reset 0.02', 'a bad day'],
      ]),
    );
  addSwitches(command);
  command.action(run(loaded(async () => (await import('./sandbox-action.ts')).sandboxAction)));
};

/** An option for each switch; the sandbox itself judges the values, so that all problems come at once. */
function addSwitches(command: Command): void {
  for (const name of SWITCH_NAMES) {
    const { choices, kind, help, default: usual } = SANDBOX_SWITCHES[name];
    const legal = choices === undefined ? '' : `: ${choices.join(', ')}`;
    const does = `${help}${legal} (default: ${usual})`;
    command.addOption(new SwitchOption(name, `--${flagOf(name)} <${kind}>`, does));
  }
}

/** An option that goes by its switch's name; commander would take `--no-webhook` for the negation of another one. */
class SwitchOption extends Option {
  override negate = false;
  readonly #name: string;

  constructor(name: string, flags: string, help: string) {
    super(flags, help);
    this.#name = name;
  }

  override attributeName(): string {
    return this.#name;
  }
}
