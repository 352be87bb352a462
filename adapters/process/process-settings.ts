import { integer, oneOf, optional, text } from '../../core/settings.js';
import { logLevels } from '../log/pino-logger.js';

export const portBounds = { min: 0, max: 65_535 };

/** Of every process on Kubernetes. */
export const processSettings = {
  host: text('HOST', 'The address to listen on.', '0.0.0.0'),
  port: integer('PORT', 'The port to listen on.', portBounds, 8080),
  logLevel: oneOf('LOG_LEVEL', 'Of the lines of the log.', logLevels, 'info'),
  /** Compiled objects and the lease are there. */
  namespace: text('POD_NAMESPACE', 'The system namespace.', 'paymaster-system'),
  podName: optional('POD_NAME', 'The name of this process.'),
};

export const keyDirectory = text('PAYMASTER_KEY_DIR', 'The directory of the master keys.');
export const signerDirectory = text('PAYMASTER_SIGNER_DIR', 'The directory of the signing keys.');
export const chainUrlDirectory = text('PAYMASTER_CHAIN_URL_DIR', 'The directory of files with chain URLs.');
export const priceHeadersDirectory = optional(
  'PAYMASTER_PRICE_HEADERS_DIR',
  'The directory of header files of HTTP price sources; without it, a source that needs one has no price.',
);
