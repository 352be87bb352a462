import { logLevels } from '../adapters/log/pino-logger.js';
import { Settings } from '../core/settings.js';
import { readLedgerStore, readRoom } from './ledger-settings.js';
import { readUsageSettings } from './usage-settings.js';

/** Settings of a process of the role ledger, from environment variables. It needs no keys, and no rights in Kubernetes. */
export type LedgerConfig = ReturnType<typeof parseLedgerConfig>;

/** Parses the environment once; throws a SettingsError that lists every mistake. */
export function parseLedgerConfig(env: Readonly<Record<string, string | undefined>>) {
  const settings = new Settings(env);
  const usage = readUsageSettings(settings);
  if (usage.kind === 'embedded')
    settings.mistake(
      'PAYMASTER_DATABASE_URL',
      'the address of the PostgreSQL that the rpc role uses: the embedded store of one process is read by no other',
    );
  const port = settings.integer('PORT', { min: 0, max: 65_535 }, 8080);
  return settings.finish({
    host: settings.text('HOST', 'the address to listen on', '0.0.0.0'),
    /** Health and metrics. */
    port: settings.integer('PAYMASTER_OPS_PORT', { min: 0, max: 65_535 }, port),
    logLevel: settings.oneOf('LOG_LEVEL', logLevels, 'info'),
    podName: settings.text('POD_NAME', 'the name of this process', `ledger-${process.pid}`),
    usage,
    room: readRoom(settings),
    ledger: readLedgerStore(settings),
  });
}
