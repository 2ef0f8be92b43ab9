"""Run the weights in torch: the module, the device, the rounding bound, the run."""
