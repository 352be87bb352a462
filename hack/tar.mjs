/** Options of tar with which the same files give the same bytes. */
export const sameBytes = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
