/* How many operations this thread has recorded for a backward. */

#ifndef CAPTURE_AUTOGRAD_NODES_H
#define CAPTURE_AUTOGRAD_NODES_H

unsigned long long autograd_nodes(void);

/* Looks the counter up in torch, which has to be loaded. */
void init_autograd_nodes(void);

#endif
