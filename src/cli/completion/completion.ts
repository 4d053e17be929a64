import { Argument } from 'commander';
import { suggestion } from '../../config/suggestion.ts';
import { examples, type AddCommand } from '../terminal/add-command.ts';
import { withArgumentWords } from '../terminal/argument-words.ts';
import { EXIT } from '../terminal/exit-code.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { bashScript } from './bash-script.ts';
import { commandTree, type CommandTree } from './command-tree.ts';
import { fishScript } from './fish-script.ts';
import { zshScript } from './zsh-script.ts';

const SCRIPTS: Readonly<Record<'bash' | 'zsh' | 'fish', (tree: CommandTree) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};
const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const addCompletion: AddCommand = (program, run) => {
  program
    .command('completion')
    .summary('a script by which your shell completes commands, options and names')
    .description(
      'Prints a script by which a shell completes commands, options, and names of collections, tables and states. It ' +
        'asks no database. The shell must know the program as research-mirror; in a checkout by a function: ' +
        'research-mirror() { npx --no -- research-mirror "$@"; }',
    )
    .addArgument(withArgumentWords(new Argument('<shell>', SHELLS.join(', ')), SHELLS))
    .addHelpText(
      'after',
      examples([
        ['research-mirror completion bash > ~/.research-mirror.bash', 'source it in ~/.bashrc'],
        ['research-mirror completion zsh > ~/.research-mirror.zsh', 'source it in ~/.zshrc, after compinit'],
        [
          'research-mirror completion fish > ~/.config/fish/completions/research-mirror.fish',
          'fish finds it',
        ],
      ]),
    )
    .action(
      run((shell, given: string) => {
        const known = SHELLS.find((name) => name === given);
        if (known === undefined) {
          const near = suggestion(given, SHELLS);
          throw new UsageError(
            `no such shell: ${JSON.stringify(given)}${near}; there are ${SHELLS.join(', ')}`,
          );
        }
        shell.out.write(SCRIPTS[known](commandTree(program)));
        return Promise.resolve(EXIT.DONE);
      }),
    );
};
