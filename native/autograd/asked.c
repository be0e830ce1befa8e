/* Which gradients of a node the running backward asks for, and so which saved tensors of it matter.
 *
 * In:  a node that runs, or lets go of what it saved; autograd's table of the running backward.
 * Out: which of its edges are asked for, and whether these, or the others, need a saved tensor.
 *
 *     a, b = x * w, w.exp();  (a + b).sum().backward(inputs=[x])     w is needed, the result of exp is not
 *
 * In eager each operation is a node: it checks and frees what it saved if it runs, and it runs if it leads to
 * a gradient that is asked for. The nodes here have many operations, so each saved tensor has the edges that
 * need it (`needed_by`).
 */
#include "autograd/autograd_node.h"

#include <stdlib.h>

typedef struct Entry { /* of a std::unordered_map<Node *, GraphTask::ExecInfo> */
    struct Entry *next;
    const Node *node;
    bool is_needed; /* it leads to a gradient that is asked for */
    void *captures; /* a gradient that comes to it is asked for */
} Entry;

static const Entry *entry_of(const HashTable *table, const Node *node)
{
    uint64_t bucket = (uint64_t)node % table->nbuckets;
    const Entry *before = table->buckets[bucket];
    const Entry *entry = before == NULL ? NULL : before->next;
    while (entry != NULL && entry->node != node) {
        entry = (uint64_t)entry->node % table->nbuckets == bucket ? entry->next : NULL;
    }
    return entry;
}

bool *asked_edges(const Node *node)
{
    const HashTable *table = autograd_symbols.asked_nodes();
    if (table == NULL || table->count == 0 || entry_of(table, node) == NULL) {
        return NULL;
    }
    int64_t count = node->segment->nedges;
    bool *asked = malloc(count > 0 ? (size_t)count : 1);
    for (int64_t i = 0; i < count && asked != NULL; i++) {
        const Node *next = node->edges[i].function; /* NULL: the argument has no gradient */
        const Entry *entry = entry_of(table, next);
        asked[i] = next == NULL || (entry != NULL && (entry->is_needed || entry->captures != NULL));
    }
    return asked;
}

bool needed_by_edges(const Segment *segment, int64_t number, const bool *asked, bool which)
{
    const char *row = PyBytes_AS_STRING(segment->needed_by) + number * needed_by_row(segment->nedges);
    for (int64_t i = 0; i < segment->nedges; i++) {
        if ((row[i / 8] >> i % 8 & 1) && asked[i] == which) {
            return true;
        }
    }
    return false;
}
