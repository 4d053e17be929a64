import type { Cluster } from './cluster.ts';

/** Copies a database within its server as it is: nobody may be connected to it, so whoever is has to come again. */
export async function copyDatabase(server: Cluster, name: string, copy: string): Promise<void> {
  await alone(server, name, `create database ${copy} template ${name}`);
}

/** Puts a copy in the place of the database, which is gone then. */
export async function putInPlace(server: Cluster, copy: string, name: string): Promise<void> {
  await alone(server, name, `alter database ${name} rename to ${name}_gone`);
  await server.ask(`alter database ${copy} rename to ${name}`, 'template1');
  await server.ask(`drop database ${name}_gone with (force)`, 'template1');
}

/** Runs a statement that needs a database without connections. */
async function alone(server: Cluster, name: string, statement: string): Promise<void> {
  await server.ask(`alter database ${name} with allow_connections false`, 'template1');
  try {
    await server.ask(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`,
      'template1',
    );
    await server.ask(statement, 'template1');
  } finally {
    await server.ask(
      `update pg_database set datallowconn = true where datname in ('${name}', '${name}_gone')`,
      'template1',
    );
  }
}
