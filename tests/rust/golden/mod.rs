//! Results against independent implementations: the golden vectors of this folder, and methods written a second time.

mod arrangement_lp;
mod arrangements;
mod ball;
mod direct;
mod direct_options;
mod eigen;
mod factorization;
mod kernel;
mod list_losses;
mod list_optimum;
mod metrics;
mod paired;
mod paper_tables;
mod perceptron;
mod q_svm;
mod smoothing;
mod support;
