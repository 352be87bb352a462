import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { expect, test } from '@jest/globals';
import { until } from '../support/until.js';

// A test process that is killed must leave no server behind: the next run would find less memory and fewer ports each time.

const postgres = new URL('../support/postgres.js', import.meta.url);

test('a PostgreSQL that tests share ends with their process, also while a query waits', async () => {
  const program = `
    const { startPostgres, query } = await import(${JSON.stringify(postgres.href)});
    const server = await startPostgres({});
    server.endWithProcess();
    void query(server.url, 'SELECT pg_sleep(3600)').catch(() => {});
    const waits = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'";
    while ((await query(server.url, waits)).length === 0);
    console.log(server.directory);
    setInterval(() => {}, 1000);
  `;
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [directory] = (await once(createInterface(child.stdout), 'line')) as [string];
  expect(existsSync(directory)).toBe(true);
  child.kill('SIGKILL');
  await until('the server is gone, with its files', () => !existsSync(directory));
});
