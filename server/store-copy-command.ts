import { statSync } from 'node:fs';
import { join } from 'node:path';
import { copyStore } from '../adapters/store/copy/copy-store.js';
import { isDomainError } from '../core/errors.js';
import { Settings, SettingsError } from '../core/settings.js';
import { given } from '../core/units/given.js';
import { systemClock } from '../core/units/time.js';
import { readUsageSettings } from './usage-settings.js';

// Moves an embedded store to the PostgreSQL that PAYMASTER_DATABASE_URL names. No process may use either of them meanwhile.

const usageText =
  'usage: PAYMASTER_DATABASE_URL=postgresql://… store-copy-command.js PATH\nPATH: a data directory, or the file of an embedded store';
/** The name of the file in a data directory. */
const fileName = 'usage.sqlite';

function fileAt(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true ? join(path, fileName) : path;
}

async function main(): Promise<string> {
  const [path, ...rest] = process.argv.slice(2);
  if (path === undefined || path === '' || rest.length > 0) throw new RangeError('one PATH is needed');
  const settings = new Settings(process.env);
  const usage = settings.finish(readUsageSettings(settings));
  if (usage.kind === 'embedded')
    throw new RangeError(`PAYMASTER_DATABASE_URL must name a PostgreSQL, got file:${usage.path}`);
  const { address, passwordFile } = usage;
  const { movedTo } = await copyStore({
    path: fileAt(path),
    client: { address, ...given({ passwordFile }), applicationName: 'paymaster-store-copy' },
    now: systemClock.now(),
    onProgress: (done) => process.stderr.write(`${done}\n`),
  });
  return `everything is in PostgreSQL: start the servers with this PAYMASTER_DATABASE_URL\nthe embedded store is kept as ${movedTo}, and nothing signs from it any longer`;
}

try {
  process.stdout.write(`${await main()}\n`);
} catch (error) {
  if (!(error instanceof Error)) throw error;
  const isUsage = error instanceof RangeError || error instanceof SettingsError;
  process.stderr.write(`${error.message}${isUsage ? `\n${usageText}` : ''}\n`);
  process.exitCode = isUsage ? 2 : isDomainError(error, 'UNAVAILABLE') ? 3 : 1;
}
