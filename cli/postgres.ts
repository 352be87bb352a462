import { invalidInput } from '../core/errors.js';
import { Settings } from '../core/settings.js';
import { given } from '../core/units/given.js';
import { readUsageSettings } from '../adapters/store/usage-settings.js';

/** How to connect to the shared store, by the same variables as the server's. Throws SettingsError and INVALID_INPUT. */
export function readPostgres(env: Readonly<Record<string, string | undefined>>, applicationName: string) {
  const settings = new Settings(env);
  const usage = settings.finish(readUsageSettings(settings));
  if (usage.kind === 'embedded')
    throw invalidInput({
      field: 'PAYMASTER_DATABASE_URL',
      expected:
        'a PostgreSQL: an embedded store belongs to the process that has it open; pause the Paymaster, or stop that process',
      value: `file:${usage.path}`,
    });
  const { address, passwordFile } = usage;
  return { address, ...given({ passwordFile }), applicationName };
}
