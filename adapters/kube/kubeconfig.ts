import { given } from '../../core/units/given.js';
import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import type { KubeCredentials } from './transport.js';

/**
 * Server and identity of one context of a kubeconfig file, by default the current one. client-node resolves tokens,
 * certificates, exec plugins and OIDC; our own pooled transport sends the requests. The file is read each time, so that
 * a plugin is asked again for credentials that the server refused. Throws an error that says what is wrong with the
 * file.
 */
export async function readKubeconfig(file: string, context?: string): Promise<KubeCredentials> {
  const config = new KubeConfig();
  config.loadFromFile(file);
  if (context !== undefined) config.setCurrentContext(context);
  const cluster = config.getCurrentCluster();
  if (cluster === null)
    throw new Error(
      `${file} has no cluster for context "${config.getCurrentContext()}": kubectl config get-contexts lists those it has`,
    );
  const { proxyUrl: proxy } = cluster;
  if (proxy !== undefined && !/^https?:/.test(proxy))
    throw new Error(
      `${file}: proxy-url must be http://… or https://…, got "${proxy}": a direct connection would not be what the file asks for`,
    );
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const [ca, clientCertificate, clientKey] = [options.ca, options.cert, options.key].map(readPem);
  const authorization = readAuthorization(options);
  return {
    server: cluster.server,
    ...given({ ca, clientCertificate, clientKey, authorization, proxy }),
    ...(options.rejectUnauthorized === false ? { skipTlsVerify: true } : {}),
    ...(typeof options.servername === 'string' ? { serverName: options.servername } : {}),
  };
}

function readPem(value: unknown): string | undefined {
  if (Buffer.isBuffer(value)) return value.toString('utf8');
  return typeof value === 'string' ? value : undefined;
}

function readAuthorization({ headers, auth }: RequestOptions): string | undefined {
  if (typeof auth === 'string') return `Basic ${Buffer.from(auth).toString('base64')}`;
  if (headers === undefined || Array.isArray(headers)) return undefined;
  const value = Object.entries(headers).find(([name]) => name.toLowerCase() === 'authorization')?.[1];
  return typeof value === 'string' ? value : undefined;
}
