/* Whether torch's own methods of tensors are what they were: guards/properties/tensor_methods.py, which holds
 * the table.
 */
#ifndef CAPTURE_TENSOR_METHODS_H
#define CAPTURE_TENSOR_METHODS_H

#include "frame/pyversion.h"
#include "tensors/torch_symbols.h"

typedef struct {
    unsigned int tag; /* version of torch.nn.Parameter at the last look; a change of a class that it derives
                         from changes it too */
    int replaced;     /* what came of that */
} TensorMethods;
extern TensorMethods tensor_methods;

/* Takes the table; 0, or -1 with an exception. */
int load_tensor_methods(void);
int tensor_methods_look(void);

/* Never raises, runs no Python code. A class that was changed has version 0 until somebody looks something up
 * in it. */
static inline int tensor_methods_replaced(void)
{
    unsigned int tag = type_version(torch_symbols.parameter_type);
    return tag != 0 && tag == tensor_methods.tag ? tensor_methods.replaced : tensor_methods_look();
}

#endif
