import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request as askHttp } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { listen } from '../../adapters/listen.js';

/** A proxy that ends TLS as Caddy does: it replaces what a visitor says of his address and of TLS. Its certificate is in `folder`. */
export async function startTlsProxy(folder: string, name: string) {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const made = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '2',
  ];
  const named = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
  execFileSync('openssl', [...made, ...named, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  let target = 0;
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
    const headers = {
      ...request.headers,
      'x-forwarded-for': request.socket.remoteAddress ?? '',
      'x-forwarded-proto': 'https',
    };
    const { url = '/', method = 'GET' } = request;
    const onward = askHttp({ host: '127.0.0.1', port: target, path: url, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.once('error', () => response.destroy());
    request.pipe(onward);
  });
  const port = await listen(server, 0, '127.0.0.1');
  return {
    port,
    /** The certificate, for those who trust it. */
    cert,
    /** Sends what comes to this port of the machine. */
    to: (upstream: number) => (target = upstream),
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
