import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addDistribute: AddCommand = (program, run) => {
  program
    .command('distribute')
    .summary('spread the mirror over the nodes of a Citus cluster')
    .description(
      'Makes a plain mirror on the coordinator of a Citus cluster a distributed one: the tables of accounts are spread over ' +
        'the nodes by account, in one transaction. Daemons may run on: their writes wait meanwhile, and nothing is lost. ' +
        'A mirror that is distributed stays as it is, and the command ends with 0. Tables of later versions follow by themselves.',
    )
    .option(
      '--dry-run',
      'only look: is the cluster ready, and which tables with how many rows would be spread',
    )
    .option('--shards <number>', 'into how many parts accounts are spread; default: citus.shard_count')
    .option('--json', 'as JSON on stdout')
    .addHelpText(
      'after',
      examples([
        ['research-mirror distribute --dry-run', 'is the cluster ready? how much is there?'],
        ['research-mirror distribute', 'do it, while daemons run'],
      ]),
    )
    .action(run(loaded(async () => (await import('./distribute-action.ts')).distributeAction)));
};
