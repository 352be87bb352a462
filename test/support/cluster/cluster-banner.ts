import { join } from 'node:path';
import { printListing, printStates, sponsorExample } from '../../../standalone/banner.js';
import type { Connection } from '../../../standalone/connection.js';
import { table, type Console } from '../../../standalone/console.js';
import type { ResourceState } from '../../../standalone/resource-state.js';
import type { Cluster } from './cluster.js';
import type { Component } from './component.js';

/** Prints what runs where, and commands that work when pasted. */
export function printClusterBanner(
  console: Console,
  facts: {
    readonly cluster: Cluster;
    readonly states: readonly ResourceState[];
    readonly connection: Connection;
    readonly replicas: readonly Component[];
  },
): void {
  const { cluster, connection, states, replicas } = facts;
  console.line();
  console.line('Running');
  console.line(
    table([
      ['API server', cluster.plane.url, ''],
      ['dashboard API', `${connection.dashboardUrl}/api/v2/public/sdk`, 'header authToken, see below'],
      ['console', `${connection.dashboardUrl}/console/`, 'sign in with the authToken, see below'],
      ...replicas.map(({ name, origin }) => [name, origin, '']),
      ['PostgreSQL', cluster.postgres.url, 'limits and reservations'],
      ['dev chain (anvil)', connection.chainRpcUrl, ''],
      ['logs (JSON lines)', join(cluster.directory, '*/log.jsonl'), ''],
    ]),
  );
  printStates(console, states);
  const kubectl = join(cluster.plane.assets, 'kubectl');
  console.line();
  console.line('Look at it from another terminal');
  console.line(`export KUBECONFIG=${cluster.plane.kubeconfig('admin')} PATH=${cluster.plane.assets}:$PATH`);
  console.line(`${kubectl} get pm -n quickstart -w`);
  const example = sponsorExample(connection);
  if (example !== undefined) {
    console.line();
    console.line('Sponsor an operation, on each replica');
    for (const { origin } of replicas)
      console.line(example.replace(new URL(connection.rpcUrl ?? origin).origin, origin));
  }
  const tokenFile = join(cluster.directory, 'auth-token').replaceAll("'", `'\\''`);
  printListing(console, connection, `cat '${tokenFile}'`);
  console.line();
  console.line('Ctrl-C stops everything and forgets it.');
}
